// Definitions for C++ parts, without headers or libraries: loops, constants, and functions that a compiler can
// vectorise. All other functions that parts call are those of the C library, which the process has loaded.

#define __device__ static
// A step of a program. Not inlined: gcc does not vectorise a loop if it sees that the loop overwrites its operands.
#define STEP __attribute__((noinline)) static void
#define EACH(i, n) _Pragma("omp simd") for (index i = 0; i < n; i++)
typedef __PTRDIFF_TYPE__ index;

#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define isinf(x) __builtin_isinf(x)
#define fabsf __builtin_fabsf
#define fabs __builtin_fabs
#define sqrtf __builtin_sqrtf
#define sqrt __builtin_sqrt
#define floorf __builtin_floorf
#define floor __builtin_floor
#define ceilf __builtin_ceilf
#define ceil __builtin_ceil
#define truncf __builtin_truncf
#define trunc __builtin_trunc
#define rintf __builtin_rintf
#define rint __builtin_rint
#define copysignf __builtin_copysignf
#define copysign __builtin_copysign

// -- a NumPy array, as its C API defines it, after the OBJECT bytes of the header of every Python object
struct Array { char *data; int ndim; index *shape, *strides; void *base, *dtype; int flags; };

static inline char *data_of(char *object) { return ((Array *)(object + OBJECT))->data; }

// The index of the first object that a part cannot read, because it is not an array, not contiguous (flag 0x1) or not
// aligned (flag 0x100). -1 if the part can read all objects.
static inline int misfit(char **objects, char *type, const int *checked, int n)
{
    for (int k = 0; k < n; k++) {
        char *object = objects[checked[k]];
        const bool is_array = *(char **)(object + OBJECT - sizeof(char *)) == type;
        if (!is_array || (((Array *)(object + OBJECT))->flags & 0x101) != 0x101) return checked[k];
    }
    return -1;
}

static inline float from_bits(int bits) { float x; __builtin_memcpy(&x, &bits, 4); return x; }
static inline double from_bits(long long bits) { double x; __builtin_memcpy(&x, &bits, 8); return x; }
static inline int bits_of(float x) { int bits; __builtin_memcpy(&bits, &x, 4); return bits; }
static inline long long bits_of(double x) { long long bits; __builtin_memcpy(&bits, &x, 8); return bits; }

// -- half precision: round to nearest, ties to even (F. Giesen, float_to_half_fast3_rtne). An addition rounds subnormal
//    numbers. For a double, the last bit of the float records whether bits were cut off (sticky bit).
static inline float from_half(unsigned short bits)
{
    const int size = bits_of(from_bits((bits & 0x7fff) << 13) * 0x1p112f);
    return from_bits(size | ((bits & 0x7c00) == 0x7c00 ? 0x7f800000 : 0) | (int)((unsigned)(bits & 0x8000) << 16));
}

static inline unsigned short to_half(float x)
{
    const int bits = bits_of(x), size = bits & 0x7fffffff, special = size > 0x7f800000 ? 0x7e00 : 0x7c00;
    const int normal = (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13;
    const int small = bits_of(from_bits(size) + .5f) - 0x3f000000;
    return (unsigned short)((size < 0x38800000 ? small : size < 0x47800000 ? normal : special) | (bits >> 16 & 0x8000));
}

static inline unsigned short to_half(double x)
{
    const float y = (float)x;
    const int bits = bits_of(y), odd = (bits - (fabs((double)y) > fabs(x))) | 1;
    return to_half(from_bits((double)y == x ? bits : odd));
}

// x y + z, rounded once if the processor can. The compiler never contracts a product and a sum; only explicit calls do.
// So each op rounds as NumPy does, and formulas with cancellation lose the same digits.
#if defined(__FMA__) || defined(__FP_FAST_FMA) || defined(__ARM_FEATURE_FMA)
static inline float multiply_add(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
static inline double multiply_add(double x, double y, double z) { return __builtin_fma(x, y, z); }
#else
template <class T> static inline T multiply_add(T x, T y, T z) { return x * y + z; }
#endif

// A polynomial in x. Coefficients: the highest power first.
template <class T, class... More> static inline T polynomial(T x, T p, More... c)
{
    ((p = multiply_add(p, x, T(c))), ...);
    return p;
}

// The upper half of a number's digits: its square is exact.
static inline float upper(float x) { return from_bits(bits_of(x) & ~0xfff); }
static inline double upper(double x) { return from_bits(bits_of(x) & ~0x7ffffffLL); }

// -- e^x = 2^n e^r with |r| <= ln 2 / 2. 2^n = a b is multiplied in two steps, so that subnormal results are rounded.
//    The last bits of n + 1.5 2^23 are the integer n, also where a processor cannot convert vectors to integers.
//    1 is subtracted first: e^x - 1 = b (a (e^r - 1) + (a - 1 / b)). `exp_times` is e^(x + low) y, rounded once.
//    Polynomials: Cephes (Moshier), expf; in double the Taylor polynomial of degree 13, with a remainder below 2^-60.
#define exp exp_
#define expf exp_
#define expm1 expm1_
#define expm1f expm1_

static inline float exp_times(float x, float low, float y, bool less_1 = false)
{
    x = x > 89.f ? 89.f : x < -104.f ? -104.f : x;
    const float t = multiply_add(x, 1.44269504f, 0x1.8p23f), n = t - 0x1.8p23f;
    const float r = multiply_add(n, 2.12194440e-4f, multiply_add(n, -0.693359375f, x)) + low;
    const float p = polynomial(r, 1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f,
                               1.6666665459e-1f, 5.0000001201e-1f);
    const int m = bits_of(t) - bits_of(0x1.8p23f), half = m >> 1, rest = m - half;
    const float a = from_bits((half + 127) << 23), b = from_bits((rest + 127) << 23), c = from_bits((127 - rest) << 23);
    return multiply_add(a, multiply_add(p, r * r, r), less_1 ? a - c : a) * y * b;
}

static inline double exp_of_parts(double n, double r, double y = 1., bool less_1 = false)
{
    const double p = polynomial(r, 1. / 6227020800., 1. / 479001600., 1. / 39916800., 1. / 3628800., 1. / 362880.,
                                1. / 40320., 1. / 5040., 1. / 720., 1. / 120., 1. / 24., 1. / 6., .5);
    const long long m = bits_of(n + 0x1.8p52) - bits_of(0x1.8p52), half = m >> 1, rest = m - half;
    const double a = from_bits((half + 1023) << 52), b = from_bits((rest + 1023) << 52);
    const double c = from_bits((1023 - rest) << 52);
    return multiply_add(a, multiply_add(p, r * r, r), less_1 ? a - c : a) * y * b;
}

static inline double exp_times(double x, double low, double y, bool less_1 = false)
{
    x = x > 710. ? 710. : x < -746. ? -746. : x;
    const double n = __builtin_rint(x * 1.4426950408889634);
    return exp_of_parts(n, (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10 + low, y, less_1);
}

template <class T> static inline T exp_(T x, bool less_1 = false) { return exp_times(x, T(-0.), T(1), less_1); }
template <class T> static inline T expm1_(T x) { const T y = exp_(x, true); return x == 0 ? x : y; }

// -- log x = k ln 2 + log(1 + f) with sqrt(1/2) <= 1 + f < sqrt(2); s = f / (2 + f). Subnormal x is scaled first.
//    fdlibm (Sun), e_log.c; in single, fewer terms of the same series.
#define log log_
#define logf log_

static inline float log_(float x)
{
    const bool small = x < 1.17549435e-38f;
    const float scaled = small ? x * 8388608.f : x;
    const int bits = bits_of(scaled) - 0x3f3504f3;
    const float k = (float)((bits >> 23) - (small ? 23 : 0));
    const float f = from_bits((bits & 0x7fffff) + 0x3f3504f3) - 1.f;
    const float s = f / (2.f + f), z = s * s, half = .5f * f * f;
    const float r = z * polynomial(z, .24279078841f, .28498786688f, .40000972152f, .66666662693f);
    const float y = k * 6.9313812256e-01f - ((half - (s * (half + r) + k * 9.0580006145e-06f)) - f);
    return x > 0.f ? (x < INFINITY ? y : x) : x == 0.f ? -INFINITY : NAN;
}

static inline double parts_of(double x, double &k)
{
    const bool small = x < 2.2250738585072014e-308;
    const long long bits = bits_of(small ? x * 18014398509481984. : x) - 0x3fe6a09e667f3bcdLL;
    k = (double)((bits >> 52) - (small ? 54 : 0));
    return from_bits((bits & 0xfffffffffffffLL) + 0x3fe6a09e667f3bcdLL) - 1.;
}

static inline double log_(double x)
{
    double k;
    const double f = parts_of(x, k), s = f / (2. + f), z = s * s, half = .5 * f * f;
    const double r = z * polynomial(z, 1.479819860511658591e-01, 1.531383769920937332e-01, 1.818357216161805012e-01,
                                    2.222219843214978396e-01, 2.857142874366239149e-01, 3.999999999940941908e-01,
                                    6.666666666666735130e-01);
    const double y = k * 6.93147180369123816490e-01 - ((half - (s * (half + r) + k * 1.90821492927058770002e-10)) - f);
    return x > 0. ? (x < INFINITY ? y : x) : x == 0. ? -(double)INFINITY : (double)NAN;
}

// log(1 + x), corrected for the rounding error of 1 + x.
#define log1p log1p_
#define log1pf log1p_
template <class T> static inline T log1p_(T x)
{
    const T y = 1 + x, more = (x - (y - 1)) / y, z = log_(y) + ((y > 0) & (y < INFINITY) ? more : 0);
    return x == 0 ? x : z;
}

// -- x^y = 2^(y log2 |x|), where log2 |x| = k + (2 / 3 ln 2) s (3 + s^2 + 3/5 s^4 + ...). Single
//    is computed in double; double in two parts, the upper with few enough digits for exact products: fdlibm, e_pow.c.
#define pow pow_
#define powf pow_

// x^y from |x|^y: the cases 1 and NaN, and the sign, as in C's pow.
template <class T> static inline T with_sign(T x, T y, T size)
{
    const T near = rint(y), half = y * T(.5), near_half = rint(half);
    const bool whole = y == near, odd = whole & (half != near_half);
    const bool is_one = (y == 0) | (x == 1) | ((x == -1) & whole), is_nan = (x < 0) & (x > -INFINITY) & !whole;
    const T positive = is_one ? T(1) : size, some = is_nan ? T(NAN) : positive;
    return odd & (bits_of(x) < 0) ? -some : some;
}

static inline float pow_(float x, float y)
{
    return with_sign(x, y, (float)exp_((double)y * log_((double)fabsf(x))));
}

static inline double pow_(double x, double y)
{
    double k;
    const double size = fabs(x), f = parts_of(size, k), d = 2. + f, r = 1. / d, s = f * r;
    const double sh = upper(s), dh = upper(d), sl = r * ((f - sh * dh) - sh * ((f - (d - 2.)) + (d - dh)));
    const double z = s * s, zh = sh * sh;
    const double rest = sl * (sh + s) + z * z * polynomial(z, 3. / 23, 3. / 21, 3. / 19, 3. / 17, 3. / 15, 3. / 13,
                                                           3. / 11, 3. / 9, 3. / 7, 3. / 5);
    const double th = upper(3. + zh + rest), tl = rest - ((th - 3.) - zh);
    const double u = sh * th, v = sl * th + tl * s, wh = upper(u + v), wl = v - (wh - u);
    const double p = .961796700954437255859 * wh, q = -7.02846165095275826516e-9 * wh + .961796693925975554329 * wl;
    k = size == 0. ? -INFINITY : size < INFINITY ? k : INFINITY;
    const double lh = upper(k + (p + q)), ll = ((k - lh) + p) + q, yh = upper(y);
    const double e = yh * lh;
    const bool near = fabs(y * lh) < 1100.;
    const double n = near ? __builtin_rint(e) : copysign(1100., y * lh);
    const double t = near ? (e - n) + ((y - yh) * lh + y * ll) : 0.;
    return with_sign(x, y, x == x && y == y ? exp_of_parts(n, t * 0.69314718055994531) : x + y);
}

// -- erf x = x + x P(x^2) up to 1; from there on 1 - erfc x, where erfc x = e^(-x^2) Q(v) / (x + c), v = (a - b x) / (x + c) from
//    1 to -1. The square is computed in two parts. P, Q: interpolated at Chebyshev nodes, to 2^-26 and 2^-55.
#define erf erf_
#define erff erf_
#define erfc erfc_
#define erfcf erfc_

static inline float more_erf(float x)
{
    return polynomial(x * x, 7.875875e-05f, -8.0168643e-04f, .0051890872f, -.026854211f, .11283594f,
                              -.37612626f, .12837917f);
}

static inline double more_erf(double x)
{
    return polynomial(x * x, -7.795898827002142e-10, 1.3720064546777686e-08, -1.6208483801871705e-07,
                              1.6447424703317362e-06, -1.492473690741966e-05, 1.2055294904839707e-04,
                              -8.548325975389692e-04, .0052239776071164225, -.02686617064323777, .11283791670945006,
                              -.37612638903183543, .12837916709551257);
}

static inline float far_erfc(float x)
{
    const float d = x + 2.f, v = multiply_add(-1.6521739f, x, 4.652174f) / d;
    return polynomial(v, 1.1895094e-05f, 2.2962484e-05f, -2.865111e-04f, -9.481923e-04f, .006211483f, .06510512f,
                          .2996297f, .9130043f) / d;
}

static inline double far_erfc(double x)
{
    const double d = x + 3., v = multiply_add(-1.3041825095057034, x, 5.304182509505703) / d;
    return polynomial(v, 4.343244204489046e-11, -4.017684551756806e-11, -6.8046008887761e-10, 7.736464002582821e-10,
                          8.50324666080829e-09, -9.266681579429772e-09, -1.1568731164806982e-07, 5.070351976186011e-08,
                          1.7594165960132106e-06, 1.9058715356323484e-06, -2.585801687925009e-05,
                          -1.0866079646353904e-04, 1.2002478817404192e-04, .0031093178960175144, .017816508059748066,
                          .06743221482878589, .1970689982250914, .4718477401442403, .9530704198571669) / d;
}

template <class T> static inline T tail(T x)
{
    x = x > 30 ? T(30) : x;
    const T high = upper(x), square = high * high, more = (x - high) * (x + high), sum = square + more;
    return exp_times(-sum, sum - square - more, far_erfc(x));
}

template <class T> static inline T erf_(T x)
{
    const T size = fabs(x), near = multiply_add(x, more_erf(x), x), left = tail(size) - 1, far = x > 0 ? -left : left;
    const T y = size < 1 ? near : far;
    return x == x && x != 0 ? y : x;
}

template <class T> static inline T erfc_(T x)
{
    const T size = fabs(x), near = multiply_add(-x, more_erf(x), 1 - x), right = tail(size);
    const T y = size < 1 ? near : x > 0 ? right : 2 - right;
    return x == x ? y : x;
}

// -- sin and cos in single. In double the C library's are used: vectorising them for huge numbers would be slower.
//    x 2/pi = n + f with |f| <= 1/2. A float times 27 bits of 2/pi is exact in double, and multiples of 4 do not
//    matter, so huge x use other bits of 2/pi (Payne and Hanek). Polynomials: glibc, s_sincosf.h.
#define sinf sin_
#define cosf cos_

static inline double modulo_4(double x) { return x - 4. * __builtin_rint(.25 * x); }

static inline float sine(float x, int turns)
{
    const float size = fabs(x);
    const bool b = size >= 0x1p50f, c = size >= 0x1p76f, d = size >= 0x1p102f;
    const double c1 = d ? -0x1.505c16p-81 : c ? -0x1.5ac07bp-53 : b ? -0x1.1b1bbe8p-28 : 0x1.45f306cp-1;
    const double c2 = d ? 0x1.a6ee06ep-107 : c ? -0x1.505c15ap-81 : b ? -0x1.6b01ec6p-55 : 0x1.c9c882ap-29;
    const double c3 = d ? -0x1.3ad4cd8p-137 : c ? 0x1.377036ep-110 : b ? 0x1.7d1f534p-84 : 0x1.4fe13acp-59;
    const double huge = d ? -0x1.de37df00d74e3p-167 : -0x1.d6a66c3bc6fbep-140;
    const double c4 = c ? huge : b ? 0x1.bb81b6c52b328p-113 : -0x1.70565911f924fp-91;
    const double p = modulo_4(x * c1), q = modulo_4(x * c2), n = __builtin_rint(p + q);
    const double y = ((p - n) + q + (x * c3 + x * c4)) * 1.5707963267948966, z = y * y;
    const double sine = y + y * z * polynomial(z, -1.9517298981385725e-04, .008332178146138854, -.16666654943701084);
    const double cosine = polynomial(z, 2.4390450703564542e-05, -.001388676379437604, .041666623324344516,
                                     -.49999999725108224, 1.);
    const int quarter = (n == n ? (int)n : 0) + turns;
    const double either = quarter & 1 ? cosine : sine;
    return (float)(quarter & 2 ? -either : either);
}

static inline float sin_(float x) { const float y = sine(x, 0); return x == 0.f ? x : y; }
static inline float cos_(float x) { return sine(x, 1); }

// -- tanh x, in single: x P(x^2) / Q(x^2), fitted to 2^-26 up to 8.6 and above 1 from 9.1 on. The numerator is limited to Q.
//    In double: Cephes, tanh.c, near 0; else 1 - 2 / (e^(2x) + 1), which is 1 from 20 on.
#define tanh tanh_
#define tanhf tanh_

static inline float tanh_(float x)
{
    const float size = fabs(x), y = size > 9.1f ? 9.1f : size, z = y * y;
    const float p = polynomial(z, 1.20903811e-08f, 1.96794317e-05f, .0034386355f, .133329988f);
    const float q = polynomial(z, 7.25347945e-07f, 3.19276354e-04f, .0256600473f, .466663063f, 1.f);
    const int bits = bits_of(multiply_add(p, y * z, y)), most = bits_of(q);
    return copysignf(from_bits(bits < most ? bits : most) / q, x);
}

static inline double tanh_(double x)
{
    const double size = fabs(x), z = x * x;
    const double p = polynomial(z, -9.64399179425052238628e-1, -9.92877231001918586564e1, -1.61468768441708447952e3);
    const double q = polynomial(z, 1., 1.12811678491632931402e2, 2.23548839060100448583e3, 4.84406305325125486048e3);
    const double far = 1. - 2. / (exp_(2. * (size < 20. ? size : 20.)) + 1.), near = size + size * z * (p / q);
    const double y = copysign(size < .625 ? near : far, x);
    return x == x ? y : x;
}

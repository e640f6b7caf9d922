// What a part of C++ stands on: no header, no library. Loops, constants, and those functions that a compiler can do
// for several elements at once. Everything else that is called is the C library's, which the process has loaded.

#define __device__ static
// A step of a program. Not inlined: gcc vectorises no loop of which it sees that it writes over what it reads.
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

#ifdef _WIN32
extern "C" { int _fltused; int DllMainCRTStartup(void *, unsigned, void *) { return 1; } }
#endif

// -- an array of NumPy's, as its C API lays it out behind the OBJECT bytes that every object of Python's begins with
struct Array { char *data; int ndim; index *shape, *strides; void *base, *dtype; int flags; };

static inline char *data_of(char *object) { return ((Array *)(object + OBJECT))->data; }

// The first of the objects from which a part cannot read: no array, not contiguous, or at an odd address. Else -1.
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

// -- e^x = 2^n e^r with |r| <= ln 2 / 2. 2^n is multiplied in twice, so that what is subnormal comes out rounded.
//    Polynomials: Cephes (Moshier), expf; the Taylor polynomial of degree 13 in double, whose rest is below 2^-60.
#define exp exp_
#define expf exp_

static inline float exp_(float x)
{
    x = x > 89.f ? 89.f : x < -104.f ? -104.f : x;
    const float n = __builtin_rintf(x * 1.44269504f);
    const float r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    const float y = p * (r * r) + r + 1.f;
    const int m = x == x ? (int)n : 0, half = m >> 1;
    return y * from_bits((half + 127) << 23) * from_bits((m - half + 127) << 23);
}

static inline double exp_(double x)
{
    x = x > 710. ? 710. : x < -746. ? -746. : x;
    const double n = __builtin_rint(x * 1.4426950408889634);
    const double r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
    double p = 1. / 6227020800.;
    p = p * r + 1. / 479001600.;
    p = p * r + 1. / 39916800.;
    p = p * r + 1. / 3628800.;
    p = p * r + 1. / 362880.;
    p = p * r + 1. / 40320.;
    p = p * r + 1. / 5040.;
    p = p * r + 1. / 720.;
    p = p * r + 1. / 120.;
    p = p * r + 1. / 24.;
    p = p * r + 1. / 6.;
    p = p * r + .5;
    const double y = p * (r * r) + r + 1.;
    const long long m = x == x ? (long long)n : 0, half = m >> 1;
    return y * from_bits((half + 1023) << 52) * from_bits((m - half + 1023) << 52);
}

// -- log x = k ln 2 + log(1 + f) with sqrt(1/2) <= 1 + f < sqrt(2); s = f / (2 + f). What is subnormal is scaled first.
//    fdlibm (Sun), e_log.c; in single with fewer terms of the same series.
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
    const float r = z * (.66666662693f + z * (.40000972152f + z * (.28498786688f + z * .24279078841f)));
    const float y = k * 6.9313812256e-01f - ((half - (s * (half + r) + k * 9.0580006145e-06f)) - f);
    return x > 0.f ? (x < INFINITY ? y : x) : x == 0.f ? -INFINITY : NAN;
}

static inline double log_(double x)
{
    const bool small = x < 2.2250738585072014e-308;
    const double scaled = small ? x * 18014398509481984. : x;
    const long long bits = bits_of(scaled) - 0x3fe6a09e667f3bcdLL;
    const double k = (double)((bits >> 52) - (small ? 54 : 0));
    const double f = from_bits((bits & 0xfffffffffffffLL) + 0x3fe6a09e667f3bcdLL) - 1.;
    const double s = f / (2. + f), z = s * s, half = .5 * f * f;
    double p = 1.479819860511658591e-01;
    p = p * z + 1.531383769920937332e-01;
    p = p * z + 1.818357216161805012e-01;
    p = p * z + 2.222219843214978396e-01;
    p = p * z + 2.857142874366239149e-01;
    p = p * z + 3.999999999940941908e-01;
    p = p * z + 6.666666666666735130e-01;
    const double r = p * z;
    const double y = k * 6.93147180369123816490e-01 - ((half - (s * (half + r) + k * 1.90821492927058770002e-10)) - f);
    return x > 0. ? (x < INFINITY ? y : x) : x == 0. ? -(double)INFINITY : (double)NAN;
}

// -- tanh x in single: x P(x^2) / Q(x^2), fitted to the least relative error, 2.3e-8, up to 9.1, where it is 1. All terms
//    are positive, so that none cancels another. In double: Cephes (Moshier), tanh.c, near 0; else 1 - 2 / (e^(2x) + 1)
#define tanh tanh_
#define tanhf tanh_

static inline float tanh_(float x)
{
    const float t = x > 9.01f ? 9.01f : x < -9.01f ? -9.01f : x, z = t * t;
    float p = 1.3175972880359393e-08f;
    p = p * z + 2.048007254610839e-05f;
    p = p * z + 3.4877446923166928e-03f;
    p = p * z + 1.3374420204340332e-01f;
    p = p * z + 1.f;
    float q = 7.703411336678559e-07f;
    q = q * z + 3.2728104584215956e-04f;
    q = q * z + 2.5847138623938365e-02f;
    q = q * z + 4.670773406574301e-01f;
    q = q * z + 1.f;
    const float y = t * p / q;
    return y > 1.f ? 1.f : y < -1.f ? -1.f : y;
}

static inline double tanh_(double x)
{
    const double size = fabs(x), z = x * x;
    const double p = (-9.64399179425052238628e-1 * z + -9.92877231001918586564e1) * z + -1.61468768441708447952e3;
    const double q = ((z + 1.12811678491632931402e2) * z + 2.23548839060100448583e3) * z + 4.84406305325125486048e3;
    const double far = copysign(1. - 2. / (exp_(2. * (size < 20. ? size : 20.)) + 1.), x);
    return size < .625 ? x + x * z * (p / q) : x == x ? far : x;
}

"""What NumPy means by its functions of one element, where C has another meaning for it or no name at all.

Each is a template of C++, so that one text serves every dtype. A kernel begins with those it uses.
"""

from __future__ import annotations

FUNCTIONS = {
    # -- half precision is stored in 16 bits, and computed with in single; CUDA's own header is not needed for that
    "from_half": """\
__device__ inline float from_half(unsigned short bits)
{
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
}""",
    "to_half": """\
__device__ inline unsigned short to_half(float x)
{
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}
__device__ inline unsigned short to_half(double x)
{
    unsigned short bits;
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(x));
    return bits;
}""",
    # -- of two numbers, one: what is no number wins, in NumPy; C's fmax lets it lose
    "maximum": """\
template <class T> __device__ inline T maximum(T x, T y) { return x >= y || x != x ? x : y; }""",
    "minimum": """\
template <class T> __device__ inline T minimum(T x, T y) { return x <= y || x != x ? x : y; }""",
    # -- size and sign
    "sign": """\
template <class T> __device__ inline T sign(T x) { return x > 0 ? T(1) : x < 0 ? T(-1) : x; }""",
    "magnitude": """\
template <class T> __device__ inline T magnitude(T x) { return x < 0 ? T(-x) : x; }""",
    "step": """\
template <class T> __device__ inline T step(T x, T y) { return x != x ? x : x == 0 ? y : T(x > 0); }""",
    "number_or": """\
template <class T> __device__ inline T number_or(T x, T nan, T high, T low)
{
    return x != x ? nan : isinf(x) ? (x > 0 ? high : low) : x;
}""",
    # -- quotients rounded down, where C rounds towards zero; of integers, nothing is divided by zero
    "floor_quotient": """\
template <class T> __device__ inline T floor_quotient(T x, T y)
{
    const T remainder = fmod(x, y);
    const T quotient = (x - remainder) / y - T(remainder != 0 && (remainder < 0) != (y < 0));
    const T whole = floor(quotient);
    if (y == 0) return x / y;
    return quotient == 0 ? copysign(T(0), x / y) : whole + T(quotient - whole > T(0.5));
}""",
    "floor_remainder": """\
template <class T> __device__ inline T floor_remainder(T x, T y)
{
    const T remainder = fmod(x, y);
    if (remainder == 0) return copysign(T(0), y);
    return (remainder < 0) != (y < 0) ? remainder + y : remainder;
}""",
    "floor_integer_quotient": """\
template <class T> __device__ inline T floor_integer_quotient(T x, T y)
{
    if (y == 0) return 0;
    if (T(y + 1) == 0 && y < 0) return T(-x);
    return T(x / y - (x % y != 0 && (x < 0) != (y < 0)));
}""",
    "floor_integer_remainder": """\
template <class T> __device__ inline T floor_integer_remainder(T x, T y)
{
    if (y == 0 || (T(y + 1) == 0 && y < 0)) return 0;
    return x % y != 0 && (x < 0) != (y < 0) ? T(x % y + y) : T(x % y);
}""",
    "integer_remainder": """\
template <class T> __device__ inline T integer_remainder(T x, T y)
{
    return y == 0 || (T(y + 1) == 0 && y < 0) ? T(0) : T(x % y);
}""",
    # -- powers, and logarithms of sums
    "integer_power": """\
template <class T> __device__ inline T integer_power(T x, T n)
{
    if (n < 0) return x == 1 ? T(1) : T(x + 1) == 0 ? T(n % 2 == 0 ? 1 : -1) : T(0);
    T y = 1;
    for (; n > 0; n /= 2, x = T(x * x))
        if (n % 2 != 0) y = T(y * x);
    return y;
}""",
    "log_of_sum": """\
template <class T> __device__ inline T log_of_sum(T x, T y)
{
    if (x == y) return x + T(0.69314718055994530942);
    return x > y ? x + log1p(exp(y - x)) : x < y ? y + log1p(exp(x - y)) : x - y;
}""",
}

CONSTANTS = {
    "INFINITY": "#ifndef INFINITY\n#define INFINITY __int_as_float(0x7f800000)\n#endif",
    "NAN": "#ifndef NAN\n#define NAN __int_as_float(0x7fffffff)\n#endif",
}

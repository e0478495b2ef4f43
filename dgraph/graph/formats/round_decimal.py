"""Numbers with a fraction or an exponent, as the nearest double: Eisel-Lemire.

A number of up to 18 digits is a mantissa w of 64 bits times a power of ten q. If both are exact as doubles, one
multiplication or division rounds once (Clinger). Otherwise w, shifted to the top, is multiplied by 128 bits of 5^q; the
product's upper bits are the double's. Lemire: Number Parsing at a Gigabyte per Second, 2021; Mushtak and Lemire: Fast
Number Parsing Without Fallback, 2023. Results that are not normal are left to the scanner.
"""

from __future__ import annotations

import math

import numpy as np

from dgraph._support.compiled import njit
from dgraph.graph.formats.parse_digits import TENS, digits_at
from dgraph.graph.formats.scan import EXACT, POWERS

LOWEST, HIGHEST = -342, 308
"""Powers of ten of the table: beyond, no mantissa of 64 bits gives a normal double."""
ZEROS = 400
"""Most zeros between the decimal mark and the first other digit."""
ONE, LOW = np.uint64(1), np.uint64(0xFFFFFFFF)
HALF, UNSURE = np.uint64(32), np.uint64(0x1FF)


def _five(power: int) -> int:
    """Return the upper 128 bits of 5^power, rounded down; of a negative power, rounded up."""
    size = 5 ** abs(power)
    if power >= 0:
        return size >> (size.bit_length() - 128) if size.bit_length() > 128 else size << (128 - size.bit_length())
    bits = (size - 1).bit_length()
    value = (1 << (bits + 127 if power >= -27 else 2 * bits + 128)) // size + 1
    return value >> max(value.bit_length() - 128, 0)


FIVES = np.array([divmod(_five(power), 1 << 64) for power in range(LOWEST, HIGHEST + 1)], np.uint64)


@njit(no_cpython_wrapper=True)
def _product(first, second):
    """Return the upper and the lower 64 bits of a product."""
    a, b, c, d = first >> HALF, first & LOW, second >> HALF, second & LOW
    low = b * d
    cross = a * d + (low >> HALF)
    middle = b * c + (cross & LOW)
    return a * c + (cross >> HALF) + (middle >> HALF), (middle << HALF) | (low & LOW)


@njit(no_cpython_wrapper=True)
def nearest(mantissa, power):
    """Return the double nearest to ``mantissa * 10**power``, and True; False where it is not a normal one."""
    if mantissa == 0:
        return 0.0, True
    if mantissa <= EXACT and -22 <= power <= 22:
        return float(mantissa) / POWERS[-power] if power < 0 else float(mantissa) * POWERS[power], True
    if power < LOWEST or power > HIGHEST:
        return 0.0, False
    word, zeros = np.uint64(mantissa), 0
    for step in (32, 16, 8, 4, 2, 1):
        if word >> np.uint64(64 - step) == 0:
            word <<= np.uint64(step)
            zeros += step
    high, low = _product(word, FIVES[power - LOWEST, 0])
    if high & UNSURE == UNSURE:
        more = _product(word, FIVES[power - LOWEST, 1])[0]
        low += more
        if low < more:
            high += ONE
    upper = high >> np.uint64(63)
    shift = upper + np.uint64(9)
    bits = high >> shift
    exponent = ((217706 * power) >> 16) + 63 + np.int64(upper) - zeros
    if low <= ONE and -4 <= power <= 23 and bits & np.uint64(3) == ONE and bits << shift == high:
        bits &= ~ONE  # halfway between two doubles: to the even one
    bits = (bits + (bits & ONE)) >> ONE
    if not -1022 <= exponent <= 1022:
        return 0.0, False
    return math.ldexp(float(bits), exponent - 52), True


@njit(cache=True, nogil=True)
def decimal_at(text, position, mark):
    """Return (valid, value, end) of the unsigned number from ``position`` on, of digits, ``mark``, digits and exponent.

    Other valid numbers, such as those of more than 18 digits, are not for this function.
    """
    mantissa, places = digits_at(text, position)
    here, power = position + places, np.int64(0)
    if places == 0 or places > 18:
        return False, 0.0, here
    if mark and text[np.uintp(here)] == mark:
        here += 1
        point = here
        if mantissa == 0:
            places = np.int64(0)
            while text[np.uintp(here)] == 48 and here < point + ZEROS:
                here += 1
        fraction, digits = digits_at(text, here)
        here += digits
        if here == point or digits > 18 or places + digits > 18:
            return False, 0.0, here
        mantissa, power = mantissa * TENS[digits] + fraction, point - here
    if text[np.uintp(here)] | 32 == 101:
        here += 1
        down = text[np.uintp(here)] == 45
        if down or text[np.uintp(here)] == 43:
            here += 1
        size, digits = digits_at(text, here)
        here += digits
        if digits == 0 or digits > 4:
            return False, 0.0, here
        power += -size if down else size
    value, valid = nearest(mantissa, power)
    return valid, value, here

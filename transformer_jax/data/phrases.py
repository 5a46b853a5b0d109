"""Phrases that say the same in several languages: dates, times, numbers, quantities, money, lists.

A phrase is a function from a language to text; a maker draws a phrase. Unicode's CLDR (through Babel) and num2words
hold the grammar: plurals, gender of unit names, word order, separators. Draws avoid what these two get wrong: the
first day of a month ("1 mars" for "1er mars"), French ordinals after "quatre-vingts" and "cents", and spelled numbers
that would have to agree with their unit ("vingt et une heures", "hundertein Tage").
"""

import datetime
import functools
import random
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Literal

from babel import Locale, dates, lists, numbers, units
from num2words import num2words

Phrase = Callable[[str], str]
Maker = Callable[[random.Random], Phrase]

LOCALES = {"en": Locale.parse("en_GB"), "de": Locale.parse("de"), "fr": Locale.parse("fr")}
_CLOCKS = {"en": "h:mm a", "de": "HH:mm", "fr": "HH:mm"}

LENGTHS = ("length-centimeter", "length-meter", "length-kilometer", "length-mile", "length-foot")
MASSES = ("mass-gram", "mass-kilogram", "mass-tonne", "mass-ounce", "mass-pound")
VOLUMES = ("volume-milliliter", "volume-liter", "volume-cubic-meter", "volume-barrel")
Duration = Literal["second", "minute", "hour", "day", "week", "month", "year"]
DURATIONS: tuple[Duration, ...] = ("second", "minute", "hour", "day", "week", "month", "year")
UNITS = (
    *LENGTHS,
    *MASSES,
    *VOLUMES,
    *(f"duration-{unit}" for unit in DURATIONS),
    *("area-square-meter", "area-square-kilometer", "area-hectare"),
    *("speed-kilometer-per-hour", "speed-meter-per-second", "speed-knot"),
    *("temperature-celsius", "power-kilowatt", "energy-kilowatt-hour", "electric-volt", "digital-gigabyte"),
)
_CURRENCIES = ("EUR", "USD", "GBP", "CHF", "SEK", "CAD", "INR", "JPY")
_SYMBOL_CURRENCIES = ("EUR", "USD", "GBP", "CHF")


def _count(rng: random.Random) -> int:
    """From 2 to 9,999, mostly of two or three digits."""
    digits = rng.choices((1, 2, 3, 4), weights=(3, 5, 3, 1))[0]
    return rng.randrange(max(2, 10 ** (digits - 1)), 10**digits)


def _number(rng: random.Random) -> Decimal:
    """A count, or a number with one decimal in one case of four."""
    return Decimal(_count(rng)) if rng.random() < 0.75 else Decimal(rng.randrange(11, 1000)) / 10


def _day(rng: random.Random) -> datetime.date:
    return datetime.date(rng.randrange(1900, 2030), rng.randrange(1, 13), rng.randrange(2, 29))


@functools.cache
def _words(count: int, language: str, kind: str = "cardinal") -> str:
    return num2words(count, lang="en_GB" if language == "en" else language, to=kind)


@functools.cache
def _unit(number: Decimal, unit: str, language: str) -> str:
    return units.format_unit(number, unit, length="long", locale=LOCALES[language])


@functools.cache
def _money(number: Decimal, currency: str, language: str) -> str:
    return numbers.format_currency(
        number, currency, locale=LOCALES[language], currency_digits=False, format_type="name"
    )


def _spelled(text: str, number: int, language: str) -> str:
    """`text` with `number`, which it holds in digits, in words."""
    return text.replace(numbers.format_decimal(number, locale=LOCALES[language]), _words(number, language))


def _spelled_count(rng: random.Random) -> int:
    count = _count(rng)
    return count + 1 if count % 10 == 1 else count


def cardinal(rng: random.Random) -> Phrase:
    """Like "one hundred and two"."""
    count = _count(rng)
    return lambda language: _words(count, language)


def ordinal(rng: random.Random) -> Phrase:
    """Like "twenty-first"."""
    tens, unit = rng.randrange(200), rng.randrange(1, 10)
    return lambda language: _words(10 * tens + unit, language, "ordinal")


def weekday_date(rng: random.Random) -> Phrase:
    """Like "Tuesday, 14 March 2017"."""
    day = _day(rng)
    return lambda language: dates.format_date(day, "full", LOCALES[language])


def date(rng: random.Random) -> Phrase:
    """Like "14 March 2017"."""
    day = _day(rng)
    return lambda language: dates.format_date(day, "long", LOCALES[language])


def clock(rng: random.Random) -> Phrase:
    """Like "3:07 pm" in English, "15:07" elsewhere."""
    time = datetime.time(rng.randrange(24), rng.randrange(60))
    return lambda language: dates.format_time(time, _CLOCKS[language], locale=LOCALES[language])


def moment(rng: random.Random) -> Phrase:
    """Like "Tuesday, 14 March 2017, 3:07 pm"."""
    day, time = rng.choice((date, weekday_date))(rng), clock(rng)
    return lambda language: str(dates.get_datetime_format("full", LOCALES[language])).format(
        time(language), day(language)
    )


def distance_in_time(sign: int) -> Maker:
    """Like "in 3 days" (+1) or "3 days ago" (-1)."""

    def make(rng: random.Random) -> Phrase:
        unit, count = rng.choice(DURATIONS), rng.randrange(2, 100)
        delta = sign * datetime.timedelta(seconds=count * _seconds(unit))
        return lambda language: dates.format_timedelta(
            delta, granularity=unit, threshold=float("inf"), add_direction=True, locale=LOCALES[language]
        )

    return make


def _seconds(unit: str) -> int:
    return next(seconds for name, seconds in dates.TIMEDELTA_UNITS if name == unit)


def quantity(choices: Sequence[str] = UNITS) -> Maker:
    """Like "12 kilometres"."""

    def make(rng: random.Random) -> Phrase:
        unit, number = rng.choice(choices), _number(rng)
        return lambda language: _unit(number, unit, language)

    return make


def spelled_quantity(choices: Sequence[str] = UNITS) -> Maker:
    """Like "twelve kilometres"."""

    def make(rng: random.Random) -> Phrase:
        unit, count = rng.choice(choices), _spelled_count(rng)
        return lambda language: _spelled(_unit(Decimal(count), unit, language), count, language)

    return make


def rate(rng: random.Random) -> Phrase:
    """Like "12 litres per hour"."""
    count, unit, per = _count(rng), rng.choice(MASSES[:2] + VOLUMES[:3]), rng.choice(DURATIONS[:4])
    return lambda language: str(
        units.format_compound_unit(count, unit, denominator_unit=f"duration-{per}", locale=LOCALES[language])
    )


def amount(rng: random.Random) -> Phrase:
    """Like "12 Swiss francs"."""
    currency, number = rng.choice(_CURRENCIES), _count(rng)
    return lambda language: _money(Decimal(number), currency, language)


def spelled_amount(rng: random.Random) -> Phrase:
    """Like "twelve Swiss francs"."""
    currency, count = rng.choice(_CURRENCIES), _spelled_count(rng)
    return lambda language: _spelled(_money(Decimal(count), currency, language), count, language)


def price(rng: random.Random) -> Phrase:
    """Like "€12.50"."""
    currency, cents = rng.choice(_SYMBOL_CURRENCIES), 5 * rng.randrange(10, 2000)
    return lambda language: numbers.format_currency(Decimal(cents) / 100, currency, locale=LOCALES[language])


def percentage(rng: random.Random) -> Phrase:
    """Like "12.5%"."""
    value = Decimal(rng.randrange(2, 1000)) / 1000
    return lambda language: numbers.format_percent(value, locale=LOCALES[language], decimal_quantization=False)


def listed(maker: Maker) -> Maker:
    """Like "A and B" or "A, B or C": two or three phrases of `maker`."""

    def make(rng: random.Random) -> Phrase:
        styles: tuple[Literal["standard", "or"], ...] = ("standard", "or")
        style, parts = rng.choice(styles), [maker(rng) for _ in range(rng.choice((2, 2, 3)))]
        return lambda language: lists.format_list([part(language) for part in parts], style, LOCALES[language])

    return make

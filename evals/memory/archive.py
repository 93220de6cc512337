"""Writes `archive/` beside the personal notes: notes of other years, houses and clubs, close in topic to what is asked.

`python -m evals.memory.archive` writes them again, always the same."""

import random
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).parent / "notes" / "household" / "archive"
_EACH = 18

_DISHES = (
    "barley soup|walnut bread|quince jelly|apple strudel|potato salad|beetroot stew|oat biscuits|cherry cake|pea soup|millet bake"
)
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_NAMES = "Ottilie|Karim|Bettina|Jerzy|Lucas|Marga|Anders|Friedel|Salome|Viggo|Ramona|Elif|Quentin|Dora"
_PLACES = "Ticino|the Harz|Jutland|Umbria|the Spreewald|Zeeland|Carinthia|the Vosges|Bornholm|Galicia|Slovenia|the Eifel"
_SPICES = "marjoram|nutmeg|caraway|dill|cardamom|juniper|lovage|thyme"
_FAULTS = "no hot water|a knocking noise|a dripping valve|the pilot light|a blocked filter|low pressure|a blown fuse"
_FIRMS = "Hartmann|Wuttke|the firm from Niederau|Steiner Brothers|Mr. Pfaff|the caretaker's nephew"
_CLUBS = "tennis club|choir|rowing club|beekeepers' association|local history society|allotment association"
_TEAMS = "billing team|mobile team|data platform|office move|support rota|onboarding group"


def recipe(pick: "Pick") -> str:
    dish = pick(_DISHES)
    return f"""# {dish.capitalize()}, after {pick(_NAMES)}

- {pick.number(150, 900, 50)} g of the main thing, {pick.number(100, 600, 20)} g water or milk, {pick.number(5, 25)} g salt.
- Season with {pick(_SPICES)} and {pick(_SPICES)}; {pick(_NAMES)} does not like it too strong.
- {pick.number(160, 240, 10)} degrees for {pick.number(15, 75, 5)} minutes, then leave it standing with the door open.
- Made {pick.number(3, 20)} portions, of which {pick.number(1, 4)} went into the freezer on the second shelf.
- Next time less {pick(_SPICES)}, and begin in the morning, not after lunch.
"""


def hut(pick: "Pick") -> str:
    return f"""# Notes on the house in {pick(_PLACES)}

## Heating and water
- The stove has to be cleaned in {pick(_MONTHS)}; ashes go behind the shed. {pick(_FIRMS)} has the long brush.
- When there is {pick(_FAULTS)}: turn the red lever, wait {pick.number(2, 20)} minutes, and ring {pick(_FIRMS)} if it stays.
- The water is turned off at the well, {pick.number(10, 60, 5)} steps from the door, and the pipes are emptied before winter.
## Keys and network
- {pick(_NAMES)} keeps the spare key. The other one hangs in the woodshed, behind the {pick.number(2, 6)}th plank.
- There is no network worth its name; the password of the neighbours is on the calendar of {pick.number(2015, 2022)}.
## Costs
- {pick.number(20, 95)} a night for friends, firewood extra.
- The insurance was {pick.number(180, 420, 10)} in {pick.number(2018, 2023)}.
"""


def minutes(pick: "Pick") -> str:
    club, year = pick(_CLUBS), pick.number(2019, 2024)
    return f"""# Meeting of the {club}, {pick.number(1, 28)} {pick(_MONTHS)} {year}

Present: {pick(_NAMES)} (chair), {pick(_NAMES)}, {pick(_NAMES)} (minutes).

- The roof of the hut costs {pick.number(3, 30)},{pick.number(100, 900, 100)}; {pick(_FIRMS)} is the only one that answered.
- The fee goes up by {pick.number(1, 15)} a year from {pick(_MONTHS)}; families pay as for two.
- {pick(_NAMES)} organises the summer party and {pick(_NAMES)} the drinks. No animals this time.
- {pick(_NAMES)} steps down as treasurer; {pick(_NAMES)} does it for a year, and not a day longer.
- A neighbour has complained about noise. {pick(_NAMES)} talks to him.
"""


def team(pick: "Pick") -> str:
    name = pick(_TEAMS)
    return f"""# {name.capitalize()}, notes of {pick.number(1, 28)} {pick(_MONTHS)} {pick.number(2021, 2024)}

- Response times are at {pick.number(80, 900, 10)} ms again after {pick(_NAMES)} found a loop in the import.
- {pick(_NAMES)} rolls out on {pick.number(1, 28)} {pick(_MONTHS)}; {pick(_NAMES)} is on call that week.
- A customer asks for an export to paper. We say yes, once, and never again.
- {pick.number(1, 6)} more machines for {pick.number(200, 2400, 50)} a month, not approved yet.
- Cake by {pick(_NAMES)}, for the {pick.number(2, 20)}th year in the company.
"""


def trip(pick: "Pick") -> str:
    place, first, last = pick(_PLACES), pick.number(1, 14), pick.number(15, 28)
    return f"""# {place[0].upper()}{place[1:]}, {first} to {last} {pick(_MONTHS)} {pick.number(2016, 2023)}

- Night on the way at the inn by the station, {pick.number(60, 140, 5)} euros, parking in the street.
- Landlord: {pick(_NAMES)}, key in the letter box with the code {pick.number(1000, 9999)}.
- {pick(_NAMES)} had a fever on day {pick.number(2, 9)}; the pharmacy closes at noon.
- The boat was cancelled because of {pick("wind|fog|a strike|low water")}, and half of the money came back.
- Market on {pick("Mondays|Tuesdays|Fridays|Saturdays")}. Bread sells out by nine.
"""


def diary(pick: "Pick") -> str:
    lines = [f"# {pick(_MONTHS)} {pick.number(2020, 2024)}", ""]
    kinds = (
        "{d}: {n} rang up, we talked for an hour about {p} and about nothing.",
        "{d}: Lost the green umbrella on the tram. It has not come back.",
        "{d}: Swam {k} lengths, the water was like {s} tea.",
        "{d}: Quarrel with {n} about the parking place. Made up again with {f}.",
        "{d}: First {b} in the garden, later than in the year before.",
        "{d}: {n} played at the school concert and forgot the second verse.",
        "{d}: Read half of a book on {p} and left it on a bench.",
        "{d}: Operation on {n}'s shoulder, all went well, home in {k} days.",
    )
    for day in sorted(pick.chance.sample(range(1, 29), 7)):
        template = pick.chance.choice(kinds)
        lines.append(
            "- "
            + template.format(
                d=day,
                n=pick(_NAMES),
                p=pick(_PLACES),
                k=pick.number(2, 40),
                s=pick(_SPICES),
                f=pick(_DISHES),
                b=pick("blackbird|snowdrops|frogs|bumblebees|radishes"),
            )
        )
    return "\n".join(lines) + "\n"


class Pick:
    """Choices from one source of chance."""

    def __init__(self, seed: str) -> None:
        self.chance = random.Random(seed)

    def __call__(self, words: str) -> str:
        return self.chance.choice(words.split("|"))

    def number(self, low: int, high: int, step: int = 1) -> int:
        return self.chance.randrange(low, high + 1, step)


def notes() -> Iterator[tuple[str, str]]:
    """Name and text of each."""
    pick = Pick("archive")
    for make in (recipe, hut, minutes, team, trip, diary):
        for number in range(1, _EACH + 1):
            yield f"{make.__name__}-{number:02d}.md", make(pick)


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in notes():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

"""Writes the sessions that answer nothing: small talk of the same people about others, close in topic to what is asked.

`python -m evals.memory.distractors` writes them again; the same names and counts give the same text."""

import random
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

NOTES = Path(__file__).parent / "notes"
PER_SET = 20
TOPICS_EACH = 4
_HEADER = re.compile(r"Session \d+ — (\d+ \w+ \d{4}), \d\d:\d\d")
_SAID = re.compile(r"\n([A-Z]\w+): ")
_SENTENCE = re.compile(r"(?:^|(?<=[.!?] ))[a-z]")

_WORDS = {
    "who": "my cousin Oskar|a colleague called Petra|the man from the ground floor|my old teacher Mr. Falk|the girl at the kiosk|"
    "my aunt Rosa|our postwoman|a friend from school, Kilian|the caretaker|my godfather|the lady in the pharmacy|uncle Anselm|"
    "a woman at the bus stop|my hairdresser|the new trainee|somebody in the choir|my former flatmate Noor|the baker's son",
    "town": "Lisbon|Kraków|Ghent|Trieste|Malmö|Porto|Leipzig|Bath|Ljubljana|Cork|Turku|Siena|Utrecht|Girona|Tartu|Bordeaux",
    "place": "by the river|behind the school|near the old brewery|next to the cinema|opposite the town hall|at the ring road",
    "dish": "mushroom risotto|a pumpkin curry|dumplings|an onion tart|shakshuka|fish soup|potato pancakes|ramen|moussaka",
    "month": "February|March|April|May|June|July|September|October|November",
    "day": "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday",
    "part": "an ankle|a shoulder|two toes|a collarbone|a rib|a finger",
    "animal": "a parrot|two rabbits|a tortoise|an old spaniel|three hens|a one-eyed cat|a greyhound|a kitten",
    "sport": "rowing|badminton|climbing|fencing|cross-country skiing|table tennis|judo|cycling|archery|volleyball",
    "thing": "a bookshelf|a kayak|an accordion|a sewing machine|a projector|a garden bench|an espresso machine|a typewriter",
    "job": "surveyor|bus driver|dental technician|florist|translator|tram conductor|electrician|librarian|chemist|roofer",
    "film": "the one with the two brothers|a documentary about eels|that courtroom drama|the slow one about a ferry|a heist film",
    "number": "three|four|five|seven|nine|twelve|fifteen|eighteen",
    "weather": "hail|fog|a proper storm|sticky heat|sleet|the first frost|rain from the side|sunshine at last",
    "lesson": "Spanish|drumming|pottery|calligraphy|bookbinding|sign language|welding|Finnish|bridge|photography",
    "feeling": "relieved|worn out|oddly cheerful|a bit lost|on edge|hopeful|bored to tears|quite proud",
}

_TOPICS = (
    (
        "{who} is moving to {town} in {month}, everything is already in boxes. I was asked to help and my back said no.",
        "To {town}? That is far. I could never pack up like that, it took me a year to unpack the last time.",
        "It seems that there was a job offer as a {job}, and it had to be decided within {number} days.",
        "I would have needed {number} weeks and a list. Well, I hope they find a good bakery over there.",
    ),
    (
        "Did you hear that {who} broke {part} last {day}? It happened while getting off a bicycle, of all things.",
        "Oh dear. That takes an age to heal. Is somebody doing the shopping and the stairs in the meantime?",
        "The neighbours take turns. The doctor said {number} weeks without lifting anything heavier than a cup.",
        "When that happened to somebody at work it was double the time. Better not to hurry with such things.",
    ),
    (
        "I cooked {dish} yesterday after a recipe from {who}, and I must say it was almost edible.",
        "Almost? You are too modest. The last thing I made was {dish} and the smoke alarm sang along.",
        "The trick is supposed to be patience. And more butter than one would ever admit in company.",
        "Patience I have none of, butter I can do. Send me the recipe when you find the time for it.",
        "I will, but do not blame me. It is written on the back of an envelope and one half is missing.",
    ),
    (
        "We have had {weather} here since {day}. I have not seen the sky properly for days.",
        "Same here, {weather} and then more of it. I hung up the washing three times and gave up.",
        "At least it is a good excuse to stay in with tea. I am {feeling}, to be honest with you.",
        "That is allowed. Nobody has to be cheerful in {month}, I think there is even a law about it.",
    ),
    (
        "{who} got {animal} and now talks about nothing else. There are photographs every single morning.",
        "Of {animal}? I did not see that coming at all. Is there even room enough in the flat for it?",
        "Barely. It sleeps in the bathtub, and everybody showers at the swimming pool these days.",
        "People do strange things for love. I would have to ask the landlord, and he says no to plants.",
    ),
    (
        "I went to see {film} on {day}. I fell asleep somewhere in the middle, but the music was good.",
        "I heard about that one. {who} said that the ending makes up for everything before it.",
        "I would not know, I woke up with the lights on. The popcorn cost more than the ticket.",
        "Next time we go together, and I poke you when you snore. Is there anything with a plot on?",
    ),
    (
        "{who} has taken up {sport} and trains {number} times a week. The whole corridor smells of ointment.",
        "{sport}! I tried that once and could not move my neck for days. Is there some competition coming?",
        "In {month}, in {town}. We are all supposed to come along and cheer, and there will be a bus.",
        "I am good at cheering. I shall bring sandwiches, that is the only sport that I really master.",
    ),
    (
        "There is a shop for sale {place}, and {who} wants to open a café in it, with a loan from the bank.",
        "Another café? There are {number} of them in that street. But I suppose that each has its own regulars.",
        "This one is meant to have books and an oven. The contract is to be signed in {month}, if all goes well.",
        "Then I wish them luck and good beans. I will come to the opening if there is something free.",
    ),
    (
        "My phone fell into the sink on {day}, it has been lying in a bowl of rice ever since.",
        "Rice does nothing, I read. {who} had the same thing and just bought another one after {number} days.",
        "I am not ready for that. All my pictures are on it, and the shopping list of half a lifetime.",
        "You should make copies, I keep telling everyone. Not that I do so myself, I have to admit.",
    ),
    (
        "I signed up for an evening class in {lesson}. There are {number} of us and the teacher whispers.",
        "In {lesson}! I would not have guessed. Did you not say that you wanted fewer appointments this year?",
        "I did. But {who} had a place left over, and I was {feeling} that day and said yes to everything.",
        "That is how I once ended up in a choir. Tell me about it when you know more than the basics.",
    ),
    (
        "I sold {thing} through the notice board at last. A student carried it away on {day}, on foot.",
        "On foot? How strong are students these days? I have had {thing} in the cellar for ages too.",
        "Put up a note with a drawing, the drawing makes all the difference. I got {number} calls in a day.",
        "I cannot draw. I would have to ask {who}, and then it would be a horse, whatever it is meant to be.",
    ),
    (
        "{who} is getting married in {month}, in {town}, and I have nothing at all to wear to it.",
        "A wedding! How lovely. I have not been to one since the one with the collapsed tent.",
        "They want no presents, only that everyone brings {dish} or something like it for the table.",
        "That is what I call sensible. Wear the blue thing, it has survived far worse occasions than that.",
    ),
    (
        "The train stood still for {number} hours on {day}, somewhere in a field, without any heating.",
        "Again? I have stopped making plans with trains. Did they at least hand out some water or an apology?",
        "There was a voice that apologised in several languages. {who} was on it too, we played cards.",
        "Then it was almost a nice evening. I would have written a very long letter in my head.",
    ),
    (
        "They are looking for a {job} at {who}'s company. Do you know anyone who might want that?",
        "A {job}? Not offhand. My neighbour was one for years, but went off to {town} in {month}.",
        "Pity. The pay is decent and there are {number} weeks of holiday, which is more than I get.",
        "I shall ask around. People change their work like shirts now, somebody is bound to be interested.",
    ),
    (
        "I have been sleeping badly, I wake up at {number} and then think about {thing} that I never repaired.",
        "That is the worst hour. My grandmother said to get up and peel potatoes until it passes.",
        "I might try that. {who} recommends a heavy blanket, but I am afraid of not getting out again.",
        "Go for a walk before bed and leave the phone in the kitchen. It helps me, at least on most days.",
    ),
    (
        "I finally visited the exhibition {place}, the one with the maps. I stayed for {number} hours.",
        "Is it worth the entrance fee? I wanted to go on {day}, but the queue was down to the corner.",
        "Go early. There is a map of {town} from the sixteenth century on which every chimney is drawn.",
        "You and your maps. I will go with {who}, who reads every label aloud, so plan the whole day for me.",
    ),
    (
        "{who} had a baby, a girl, and they are all {feeling} and have not slept since {day}.",
        "How wonderful! Do they have a name yet, or is there still a vote going on in the family?",
        "There are {number} candidates, and the grandmother is against all of them. I sent a blanket.",
        "A blanket is always right. I remember how small they are, one forgets that again and again.",
    ),
    (
        "I lost my keys on {day} and had to wait {number} hours for the locksmith, on the stairs.",
        "You should leave a spare set with someone. {who} keeps mine, inside a jar with the flour.",
        "I know. I was even offered soup by people I had never spoken to, so it was not all bad.",
        "Stairwells make friends. Did they turn up again, or did you have to change the whole lock?",
    ),
    (
        "I am planning a few days in {town} in {month}, nothing big, only walking and eating {dish}.",
        "I was there once for {number} days and it rained, but I would go again at once. By train?",
        "By bus, it is cheaper. {who} has lent me a guide book from before the last three currencies.",
        "Then the churches will still be right. Write me a card, nobody writes to me any more.",
    ),
    (
        "The doctor told {who} to give up coffee, and the whole office is suffering from that now.",
        "I could not do it. I tried for {number} days in {month} and was not a person anyone would like.",
        "There is some drink made of barley. It tastes like {weather}, if you can imagine such a taste.",
        "I can, sadly. We had that at school on every {day}, together with {dish}. I feel {feeling} just now.",
    ),
)


def sessions(name: str, people: tuple[str, str], first: datetime, last: datetime) -> Iterator[tuple[datetime, list[str]]]:
    """The generated sessions of a set, in the order of their dates."""
    chance = random.Random(name)
    span = (last - first).days
    days = sorted(chance.sample(range(1, max(span, PER_SET + 2)), PER_SET))
    pool = [topic for _ in range(PER_SET * TOPICS_EACH // len(_TOPICS) + 1) for topic in chance.sample(_TOPICS, len(_TOPICS))]
    for number, day in enumerate(days):
        at = first + timedelta(days=day, minutes=chance.randrange(-240, 180, 5))
        lines: list[str] = []
        for topic in pool[number * TOPICS_EACH : (number + 1) * TOPICS_EACH]:
            lines += _talk(topic, people, chance)
        yield at, lines


def _talk(topic: tuple[str, ...], people: tuple[str, str], chance: random.Random) -> Iterator[str]:
    words = {slot: chance.choice(choices.split("|")) for slot, choices in _WORDS.items()}
    turn = chance.randrange(2)
    for number, template in enumerate(topic):
        said = template.format(**words)
        said = _SENTENCE.sub(lambda found: found[0].upper(), said)
        yield f"{people[(turn + number) % 2]}: {said}"


def write(folder: Path) -> int:
    """Writes `aside-NN.md` beside the hand-written sessions of a conversation; tells how many."""
    written = sorted(folder.glob("session-*.md"))
    texts = [path.read_text(encoding="utf-8") for path in written]
    dates = [datetime.strptime(found[1], "%d %B %Y") for text in texts if (found := _HEADER.match(text))]  # noqa: DTZ007
    names = sorted({match for text in texts for match in _SAID.findall(text)})
    count = 0
    for at, lines in sessions(folder.name, (names[0], names[1]), min(dates) + timedelta(hours=19), max(dates)):
        count += 1
        header = f"Session {len(written) + count} — {at.day} {at:%B %Y, %H:%M}"
        (folder / f"aside-{count:02d}.md").write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    return count


def main() -> None:
    for folder in sorted(path for path in NOTES.iterdir() if (path / "session-01.md").exists()):
        print(folder.name, write(folder))


if __name__ == "__main__":
    main()

from ostiary.contracts.errors import ModelUnavailable
from ostiary.contracts.search import Found, IndexStatus, Reach
from ostiary.core.memory.expanding import Expanding

REACH = Reach(collections=("_memory",))


class Asked:
    """A search that only remembers what it was asked."""

    def __init__(self) -> None:
        self.questions: list[str] = []

    async def query(self, text: str, *, reach: Reach, limit: int = 6) -> Found:
        self.questions.append(text)
        return Found(passages=(), mode="hybrid", notices=("an older index answers",))

    async def status(self) -> IndexStatus:
        return IndexStatus(documents=0, chunks=0, waiting=0, embedder="")

    async def forget(self, collection: str, path: str) -> None: ...


async def imagined(question: str) -> str:
    return "The boiler was serviced\n in May."


async def broken(question: str) -> str:
    raise ModelUnavailable("the model does not answer")


async def test_the_question_goes_with_an_imagined_answer() -> None:
    search = Asked()
    await Expanding(search, imagined, lambda: True).query("Who came for the heating?", reach=REACH)
    assert search.questions == ["Who came for the heating?\nThe boiler was serviced in May."]


async def test_it_stands_alone_where_that_is_not_wanted() -> None:
    search = Asked()
    await Expanding(search, imagined, lambda: False).query("Who came?", reach=REACH)
    assert search.questions == ["Who came?"]


async def test_a_model_that_fails_costs_nothing_but_a_notice() -> None:
    search = Asked()
    found = await Expanding(search, broken, lambda: True).query("Who came?", reach=REACH)
    assert search.questions == ["Who came?"]
    assert found.notices == (
        "an older index answers",
        "The question was not widened by a model: the model does not answer.",
    )

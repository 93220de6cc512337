"""Messages with the tool they need, for measuring the router. None of them is among its own examples."""

from ostiary.contracts.model import ToolSchema


def _tool(name: str, description: str, required: tuple[str, ...] = (), **properties: str) -> ToolSchema:
    shown = {key: {"type": "string", "description": text} for key, text in properties.items()}
    return ToolSchema(
        name=name,
        description=description,
        parameters={"type": "object", "properties": shown, "required": list(required), "additionalProperties": False},
    )


TOOLS = (
    _tool("session_status", "The current time, the model, and this session's usage."),
    _tool("read", "Read a file of the workspace.", ("path",), path="File to read"),
    _tool("ls", "List a directory of the workspace.", path="Directory, default the top"),
    _tool("grep", "Search the contents of workspace files.", ("pattern",), pattern="Regular expression", path="Where to search"),
    _tool("find", "Find workspace files by name.", ("pattern",), pattern="Glob such as *.md", path="Where to search"),
    _tool("memory_search", "Search notes and facts remembered earlier.", ("query",), query=""),
    _tool("memory_write", "Remember one fact or note.", ("text",), text=""),
)

# The message, the tool, and text that must appear in its arguments.
TOOL_CASES = (
    ("What's the time now?", "session_status", ""),
    ("How many tokens has this session used?", "session_status", ""),
    ("What is today's date?", "session_status", ""),
    ("Tell me which model is answering me.", "session_status", ""),
    ("Please read README.md", "read", "README.md"),
    ("Show me the contents of src/main.py", "read", "src/main.py"),
    ("What is written in todo.txt?", "read", "todo.txt"),
    ("Summarize the file reports/march.md", "read", "reports/march.md"),
    ("List the files in the workspace", "ls", ""),
    ("What is in the folder invoices?", "ls", "invoices"),
    ("Show the directory src", "ls", "src"),
    ("Search my files for the word dentist", "grep", "dentist"),
    ("Which files mention Berlin?", "grep", "Berlin"),
    ("Find every markdown file", "find", ".md"),
    ("Where is the file called config.json?", "find", "config.json"),
    ("Look for files ending in .csv", "find", ".csv"),
    ("Could you check what shopping.md says about milk?", "read", "shopping.md"),
    ("Is there a file named passport.jpg?", "find", "passport.jpg"),
    ("Do any of my notes contain the word insurance?", "grep", "insurance"),
    ("What do I have in my documents directory?", "ls", "documents"),
    ("Remember that my sister Ines lives in Porto.", "memory_write", "Porto"),
    ("Please remember: the boiler was serviced by Kessler.", "memory_write", "Kessler"),
    ("Keep in mind that I am allergic to hazelnuts", "memory_write", "hazelnut"),
    ("Where does my sister live?", "memory_search", "sister"),
    ("Who serviced our boiler?", "memory_search", "boiler"),
    ("What am I allergic to, do you remember?", "memory_search", "allergic"),
)

CHAT_CASES = (
    "Hi there",
    "Thanks, that was helpful!",
    "What is the capital of France?",
    "Who wrote Romeo and Juliet?",
    "What is 12 times 12?",
    "Explain what a linked list is.",
    "Write a haiku about autumn.",
    "How do I open a file in Python?",
    "Translate 'good morning' to Spanish.",
    "Tell me a joke.",
    "What does HTTP stand for?",
    "Give me three tips for sleeping well.",
    "What time zone is Tokyo in?",
    "What is the difference between a list and a tuple?",
    "How long does it take to boil an egg?",
    "Can you help me write an email to my landlord?",
    "What day comes after Friday?",
    "What is a file system?",
    "I feel a bit sad today.",
    "What should I look for when buying a used car?",
)

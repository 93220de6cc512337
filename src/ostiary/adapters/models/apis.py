"""The protocols that models are spoken to in, by the names configurations give them."""

APIS = ("openai-completions", "openai-responses", "anthropic-messages", "google-generative-ai", "ollama")
LONG_TAIL = "pydantic-ai:"

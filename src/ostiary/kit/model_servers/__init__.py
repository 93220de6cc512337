"""Model servers on loopback that speak each provider's wire as strictly as the provider does.

async with serve(AnthropicSpeech()) as server:
    server.script(say("Hello", " there"))
    ...point a client at server.url with the key KEY, then look at server.requests
"""

from ostiary.kit.model_servers.anthropic import AnthropicSpeech
from ostiary.kit.model_servers.gemini import GeminiSpeech
from ostiary.kit.model_servers.ollama import OllamaSpeech
from ostiary.kit.model_servers.openai_chat import OpenAIChatSpeech
from ostiary.kit.model_servers.openai_responses import OpenAIResponsesSpeech
from ostiary.kit.model_servers.script import Call, Counted, Failure, Reply, Thought, Words, say
from ostiary.kit.model_servers.server import KEY, Asked, ModelServer, Speech, serve

__all__ = [
    "KEY",
    "AnthropicSpeech",
    "Asked",
    "Call",
    "Counted",
    "Failure",
    "GeminiSpeech",
    "ModelServer",
    "OllamaSpeech",
    "OpenAIChatSpeech",
    "OpenAIResponsesSpeech",
    "Reply",
    "Speech",
    "Thought",
    "Words",
    "say",
    "serve",
]

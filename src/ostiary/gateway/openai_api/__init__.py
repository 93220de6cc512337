"""`POST /v1/chat/completions` and `GET /v1/models` as OpenAI's clients speak them.

Parse (request), translate (submission), run (endpoint), and render whole (render) or streamed (stream, narration).
"""

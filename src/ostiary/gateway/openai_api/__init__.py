"""Chat completions, responses and models as OpenAI's clients speak them: `openai_pages`.

Parse (request, responses_request), translate (submission), run (answering), render whole or streamed (render, responses_render).
"""

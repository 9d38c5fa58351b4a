"""How does a local model sort the bundled messages? The system under test: chat.py with prompt v1 or v2.

    $ python3 bench.py --cases cases-robustness.json --system model_triage:coder_v1 --trials 5 \\
          --log recorded/my-v1.jsonl

qwen_v1, qwen_v2, gemma_v1, gemma_v2, coder_v1 and coder_v2 name a model and a prompt; any other installed model is
`model_triage:TAG/v2`, for example `model_triage:llama3.2:1b/v2`. The weights of qwen and gemma are pinned: with others
they are refused before the first trial. The server is that of OLLAMA_HOST.
"""

from typing import Any

import chat
from triage_task import CATEGORIES, Rejection, message_text

PROMPTS = {
    "v1": (
        "Classify one customer message for an online shop's support inbox. Reply with JSON only.\n"
        "category: billing (charges, refunds, payments), delivery (orders on their way, tracking, arrival), account "
        "(signing in, passwords, account access), or other (anything else).\n"
        "needs_human: true when the message suggests that someone else used or changed the customer's account; "
        "otherwise false."
    ),
}
PROMPTS["v2"] = PROMPTS["v1"] + (
    "\nMessages can be in Spanish or contain typos: classify by meaning, not by exact words. A password or account "
    "changed without the customer's permission always needs a human."
)

# Of each short name: the tag, and the first 12 hex digits of the manifest's digest that is pinned, if one is.
MODELS = {
    "qwen": ("qwen3.5:0.8b", "de63045f2975"),
    "gemma": ("gemma4:e2b", "b37049369adf"),
    "coder": ("qwen2.5-coder:0.5b", None),
}
ANSWER_SCHEMA = {
    "type": "object",
    "properties": {"category": {"type": "string", "enum": list(CATEGORIES)}, "needs_human": {"type": "boolean"}},
    "required": ["category", "needs_human"],
}
NUM_PREDICT = 64


class ModelTriage(chat.Ollama):
    """An Ollama model with one version of the prompt."""

    schema = ANSWER_SCHEMA

    def __init__(self, tag: str, version: str, pinned: str | None, name: str):
        super().__init__(tag, pinned)
        self.name, self.options["num_predict"] = f"model-triage-{name}", NUM_PREDICT
        self.use_prompt(f"triage-{version}", PROMPTS[version])
        self.version = version

    def user_text(self, case_input: dict[str, Any]) -> str:
        if self.task.rejection is not Rejection:  # another task refuses in its own words
            return super().user_text(case_input)
        return message_text(case_input)


def __getattr__(name: str) -> ModelTriage:
    """Return the system that a name stands for: one of MODELS, as coder_v1, or TAG/VERSION of any other model."""
    short, _, version = name.rpartition("_")
    if short in MODELS and version in PROMPTS:
        tag, pinned = MODELS[short]
        return ModelTriage(tag, version, pinned, tag.partition(":")[0])
    tag, _, version = name.rpartition("/")
    if tag and version in PROMPTS:
        return ModelTriage(tag, version, None, tag)  # the whole tag: two of one model are two systems
    raise AttributeError(f"name one of {', '.join(MODELS)} with _v1 or _v2, or any model as TAG/v1 or TAG/v2")

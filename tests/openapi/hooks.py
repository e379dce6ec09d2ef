"""Changes of requests for openapi_fuzz.py."""
import re

import schemathesis

TERM = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|\u00b5s|\u03bcs|ms|s|m|h)")
DURATION = re.compile(rf"\+?({TERM.pattern})+")
SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3}  # smaller units do not add up to much
LONGEST = 292 * 365 * 86400.0  # about; a schema cannot say it


def is_too_long(text: str) -> bool:
    if not DURATION.fullmatch(text):
        return False
    return sum(float(number) * SECONDS.get(unit, 1e-6) for number, unit in TERM.findall(text)) >= LONGEST


def texts_in(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from texts_in(item)


@schemathesis.hook
def filter_body(context, body):
    return not any(map(is_too_long, texts_in(body)))


@schemathesis.hook
def before_call(context, case, kwargs):
    """A claim that may wait would: up to 30 s for each."""
    if isinstance(case.body, dict) and isinstance(case.body.get("wait"), str) and case.body["wait"][:1].isdigit():
        case.body["wait"] = "0s"

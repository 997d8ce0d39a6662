"""Secrets that can be recognised by their form: by the name of a value, or by how a text looks.

A field of a payload is a secret where any part of its name says so, whatever the name's case and separators.
There too much is masked rather than too little, because the ledger keeps the value. Of a text, though, only
the masked form may be kept, and of a variable the value is masked everywhere. So there the last word of a
name decides, and what cannot be a secret stays: `prompt_tokens=1532`, `signature_valid=true`,
`COOKIE_DOMAIN=example.com`.

In a text a secret is the password of an address, what follows `Bearer` or `Basic`, and what follows such a
name in JSON, in a `repr` or after an equals sign. In quotes it goes to the end of the quotes, in the query
of an address to the next `&` or `#`, else to the next blank.
"""

from __future__ import annotations

import re

from fencepost.model.secret import MASK, hide_credentials

SECRET_WORDS = (
    *("password", "passwd", "passphrase", "pwd", "secret", "token", "apikey", "accesskey", "privatekey"),
    *("authorization", "credential", "cookie", "session", "signature"),
)
_LAST_WORDS = (
    *SECRET_WORDS,
    *("passwords", "secrets", "credentials", "cookies", "sessionid", "sessid", "accesskeyid"),
    *("secretkey", "signingkey", "encryptionkey", "masterkey", "sharedkey", "accountkey", "authkey"),
)
"""Some words are here only in the singular: tokens and sessions are counted."""
_STEMS = (
    "pass",
    "pwd",
    "secret",
    "token",
    "key",
    "authorization",
    "credential",
    "cookie",
    "sess",
    "signature",
)
"""A text with none of these has no name that looks like a secret's."""
_FURTHER = (
    r"(?:value|text|hash|base64|b64|old|new|current|previous|prod|production|staging|dev|test|live)?[0-9]*$"
)
"""Words that may follow the last significant word of a name: `DB_PASSWORD_PROD`, `api_key_2`."""

_SEPARATORS = re.compile(r"%[0-9a-f]{2}|[^a-z0-9]")
_ENDING = re.compile(rf"(?:{'|'.join(_LAST_WORDS)}){_FURTHER}")
_OFTEN_NUMBERS = re.compile(r"pass|pwd|pin|otp|secret")
_NUMBER = re.compile(r"[+-]?[0-9]{1,12}(?:\.[0-9]{1,12})?")
_NOTHING = ("", "true", "false", "null", "none")
_WORKING_FOLDERS = ("PWD", "OLDPWD")

_USERINFO = re.compile(r"(://[^\s/?#:@]*):[^\s/?#]*@")
_SCHEME = re.compile(
    r"(authorization\W{1,8})?\b(bearer|basic)(\s{1,32})(?!fp_[tsl][0-9a-f]{16}_\*)([a-z0-9._~+/=-]+)",
    re.IGNORECASE,
)
_CREDENTIAL = re.compile(r"(?=.{8})(?:.*[0-9_~+=]|.*[a-z][A-Z]|.{20})")
"""A form that no word of a sentence has."""
_NAMED = re.compile(
    r"""(?P<slashes>\\{0,7})(?P<quote>["'])(?P<field>[\w.-]{1,100})(?P=slashes)(?P=quote)\s{0,32}:\s{0,32}"""
    r"""|(?:(?P<word_slashes>\\{0,7})(?P<word_quote>["'])|(?<![\w.%\[\]-]))(?P<name>[\w.%\[\]-]++)=(?!=)"""
)
"""What comes before a value: a name in quotes and a colon, or a name and an equals sign. Where quotes begin
right before such a name, as around a word of a command, its value goes to the end of the quotes."""
_OPENED = re.compile(r"""[bBrRuU]{0,2}(?P<slashes>\\{0,7})(?P<quote>["'])""")
_QUOTE_OR_END = re.compile(r"""(?<!\\)(?P<slashes>\\*)(?P<quote>["'])(?P<word>\w?)|\n""")
_REOPENED = re.compile(r"""(?:\\{0,7}"'\\{0,7}"|\\{1,7}')'""")
"""How a shell's quotes are left and entered again for a quote in the value."""
_DIGITS = re.compile(r"-?[0-9][0-9.]*|")
_IN_QUERY = re.compile(r"""(?:[^\s&#"'<>\\]|'(?=\w))*""")
_TO_BLANK = re.compile(r"""(?:[^\s"'\\]|\\(?!\\{0,6}["'](?:[,)}\]:\s]|$))|["'](?![,)}\]:\s]|$))*""")
"""To the next blank, without the quotes around the whole."""


def masked_text(text: str) -> str:
    """The text without the secrets that can be recognised by their form; of Fencepost's own credentials the
    id stays.

    Most texts contain nothing that looks like a secret, and cost no more than that check.
    """
    text = hide_credentials(text)
    if "://" in text:
        text = _USERINFO.sub(rf"\1:{MASK}@", text)
    lower = text.lower()
    if "bearer" in lower or "basic" in lower:
        text = _SCHEME.sub(_masked_scheme, text)
    if ("=" in text or ":" in text) and any(stem in lower for stem in _STEMS):
        text = _without_named(text)
    return text


def looks_secret(name: str) -> bool:
    """Whether the value of a field with this name is better not shown."""
    plain = _plain(name)
    return any(word in plain for word in SECRET_WORDS)


def is_secret(name: str, value: str) -> bool:
    """Whether the last word of the name says so, and the value may be one."""
    plain = _plain(name)
    if _ENDING.search(plain) is None or value.lower() in _NOTHING:
        return False
    if _NUMBER.fullmatch(value):
        return _OFTEN_NUMBERS.search(plain) is not None
    return not (name in _WORKING_FOLDERS and value.startswith("/"))


def _plain(name: str) -> str:
    return _SEPARATORS.sub("", name.lower())


def _masked_scheme(found: re.Match[str]) -> str:
    """In a header, or where it is the whole text, any value is a credential; in a sentence it must look
    so."""
    header, scheme, blank, value = found.groups()
    is_whole = scheme.lower() == "bearer" and found[0] == found.string.strip()
    if header or is_whole or _CREDENTIAL.match(value):
        return f"{header or ''}{scheme}{blank}{MASK}"
    return found[0]


def _without_named(text: str) -> str:
    told, at = [], 0
    while found := _NAMED.search(text, at):
        shown, end = _shown_value(text, found)
        told += [text[at : found.end()], shown]
        at = end
    return "".join([*told, text[at:]])


def _shown_value(text: str, found: re.Match[str]) -> tuple[str, int]:
    """The text that replaces the value after a name, and where the text goes on."""
    begin, name = found.end(), found["field"] or found["name"]
    if _ENDING.search(_plain(name)) is None:
        return "", begin
    opened = _OPENED.match(text, begin)
    if found["word_quote"]:
        end, _ = _closing(text, begin, found["word_slashes"], found["word_quote"])
    elif opened:
        _, end = _closing(text, opened.end(), opened["slashes"], opened["quote"])
        return f"{opened[0]}{MASK}{opened['slashes']}{opened['quote']}", end
    else:
        end = _unquoted(text, found).end()
    value = text[begin:end]
    if not is_secret(name, value.rstrip(",;.)]}")):
        return "", begin
    around = f"{found['slashes']}{found['quote']}" if found["field"] else ""
    return f"{around}{MASK}{around}", end


def _unquoted(text: str, found: re.Match[str]) -> re.Match[str]:
    before = text[max(found.start() - 1, 0) : found.start()]
    kind = _DIGITS if found["field"] else _IN_QUERY if before in ("?", "&") else _TO_BLANK
    value = kind.match(text, found.end())
    assert value is not None, "each of them is content with nothing"
    return value


def _closing(text: str, begin: int, slashes: str, quote: str) -> tuple[int, int]:
    """Where what is in quotes ends, and where its quotes do; at the latest with the line.

    In JSON within JSON a quote has its backslashes, and one within the value has more of them. A quote that
    a word follows closes nothing.
    """
    while found := _QUOTE_OR_END.search(text, begin):
        if found["quote"] is None:
            return found.start(), found.start()
        begin = found.end()
        is_closing = len(found["slashes"]) % (2 * len(slashes) + 2) == len(slashes)
        if found["quote"] == quote and is_closing and not found["word"]:
            reopened = _REOPENED.match(text, begin) if quote == "'" else None
            if reopened is None:
                return begin - 1 - len(slashes), begin
            begin = reopened.end()
    return len(text), len(text)

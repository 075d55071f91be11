"""Stand-ins for words that must not be told: the same word is the same stand-in everywhere, and nothing of it is left.

A word (letters and digits, or what is no ASCII) is replaced letter by letter, each by another of its kind; which one
depends on all letters before it and on a key that is thrown away. So equal words stay equal, different ones different,
beginnings of each other stay that, lengths and the marks between the words are kept, and no letter stays in its place.

A look goes through its runs in the order of their ids. So the words of those are given stand-ins in the same order.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import count

KINDS = ("0123456789", "abcdef", "ghijklmnopqrstuvwxyz", "ABCDEF", "GHIJKLMNOPQRSTUVWXYZ")
KIND_OF = {letter: kind for kind in KINDS for letter in kind}
PLAIN_WORD = re.compile(r"[0-9A-Za-z]+")
WORD = re.compile(r"[0-9A-Za-z]+|[^\x00-\x7f]+")
FIRST, BEYOND = 0x80, 0x110000  # what is no ASCII
# The few names that a path must keep for what it is: pi-herdr-agents' own.
PATH_PARTS = frozenset({"artifacts", "subagent-scripts"})
ENDINGS = (".jsonl", ".sh")
HEX, LETTERS = "0123456789abcdef", "".join(sorted("".join(KINDS)))
TRIES = 64  # where few letters are free, some word may come out as it was
SEPARATOR = re.compile(r"([/\\])")


class StandIns:
    """`key`: any bytes; with another key everything has other stand-ins. `ordered`: ids that keep their order."""

    def __init__(self, key: bytes, ordered: Iterable[str] = ()) -> None:
        self._key = key
        self._ordered = in_order({word for one in ordered for word in PLAIN_WORD.findall(one)}, key)
        self._numbers: dict[int, int] = {}
        self._next = count(1001)

    def text(self, text: str) -> str:
        return WORD.sub(lambda found: self._word(found[0]), text)

    def path(self, path: str) -> str:
        """As `text`, but for what makes a path that of a script or a session file."""
        if not SEPARATOR.search(path):
            return self.text(path)
        return "".join(self._part(part) for part in SEPARATOR.split(path))

    def number(self, number: int) -> int:
        """For a pid: the same number has the same stand-in."""
        if number not in self._numbers:
            self._numbers[number] = next(self._next)
        return self._numbers[number]

    def program(self, path: str) -> str:
        """A path or name of a program, of which only `pi` is told."""
        folder, name = re.fullmatch(r"(?s)(.*[/\\])?(.*)", path).groups("")  # type: ignore[union-attr]
        return self.path(folder) + (name if name == "pi" else self.text(name))

    def _part(self, part: str) -> str:
        if part in PATH_PARTS:
            return part
        ending = next((one for one in ENDINGS if part.endswith(one)), "")
        return self.text(part.removesuffix(ending)) + ending

    def _word(self, word: str) -> str:
        if word in self._ordered:
            return self._ordered[word]
        state = hashlib.blake2b(key=self._key, digest_size=8)
        letters = []
        for letter in word:
            letters.append(_another(letter, int.from_bytes(state.digest(), "big")))
            state.update(letter.encode("utf-8", "surrogatepass"))
        return "".join(letters)


def _another(letter: str, chance: int) -> str:
    """Each letter of a kind is moved on by the same number of places, never by none or all."""
    kind = KIND_OF.get(letter)
    if kind is None:
        size = BEYOND - FIRST
        return chr(FIRST + (ord(letter) - FIRST + 1 + chance % (size - 1)) % size)
    return kind[(kind.index(letter) + 1 + chance % (len(kind) - 1)) % len(kind)]


def in_order(words: Iterable[str], key: bytes) -> Mapping[str, str]:
    """Stand-ins for these words that are in the same order, begin alike where those do, and are as long."""
    following: defaultdict[str, set[str]] = defaultdict(set)
    known = sorted(words)
    for word in known:
        for place, letter in enumerate(word):
            following[word[:place]].add(letter)
    for salt in range(TRIES):
        chance = random.Random(hashlib.blake2b(b"%d" % salt, key=key).digest())  # noqa: S311 - the digest is the secret
        others = {before: _in_order(letters, chance) for before, letters in sorted(following.items())}
        found = {word: "".join(others[word[:place]][one] for place, one in enumerate(word)) for word in known}
        if all(word != other for word, other in found.items()):
            break
    return found


def _in_order(letters: set[str], chance: random.Random) -> Mapping[str, str]:
    alphabet = HEX if letters <= set(HEX) else LETTERS
    return dict(zip(sorted(letters), sorted(chance.sample(alphabet, len(letters))), strict=True))

"""The sample bases, one module for each group of cases."""

from collections.abc import Callable
from dataclasses import dataclass, field

from encoder.base import Base


@dataclass(frozen=True)
class Case:
    """A base, what is done to its files afterwards, and the records that no reader shows."""

    base: Base
    damage: Callable | None = None  # changes the files, given as bytearrays by extension
    hidden: tuple = ()
    beside: dict = field(default_factory=dict)  # further files by their path

    def files(self):
        """Every file by its name."""
        files = {extension: bytearray(content) for extension, content in self.base.files().items()}
        if self.damage:
            self.damage(files)
        named = {f"{self.base.name}.{extension}": bytes(content) for extension, content in files.items()}
        named |= self.beside
        lines = [line for number, line in enumerate(self.base.expectations(), 1) if number not in self.hidden]
        named["expected.jsonl"] = "".join(f"{line}\n" for line in lines).encode()
        return named

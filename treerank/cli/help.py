"""Commands: help with options by panel, and a warning of options that come twice."""

import shutil
import textwrap
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import typer
from typer.core import TyperCommand

#: Longest line of a text; examples may be longer.
_WIDEST = 100
_ARGUMENTS, _OPTIONS = "Arguments", "Options"
#: Panels in their order; panels of single commands come first.
_LAST = ("Output", _OPTIONS)
#: An option of all commands, which the application takes out of the arguments.
TRACEBACK = "--traceback"
_OF_ALL = ((TRACEBACK, "Show the traceback of an error."), ("-h, --help", "Show this help."))


class Command(TyperCommand):
    """A command whose help groups options under titles."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; warn of an option that takes one value and comes twice."""
        _, _, given = self.make_parser(ctx).parse_args(args=[*args])
        options = [p for p in given if p.param_type_name == "option" and not _is_repeatable(p)]
        for param, n in Counter(options).items():
            if n > 1:
                option = max(param.opts, key=len)
                message = f"{option} takes one value and is there {n} times: the last one counts."
                warnings.warn(message, UserWarning, stacklevel=2)
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help: usage, description, arguments and options by group, examples."""
        params: list[Any] = [param for param in self.get_params(ctx) if not _is_of_all(param)]
        needed = [_written(param).rpartition(", ")[2] for param in params if param.required]
        usage = " ".join([ctx.command_path, *needed, "[OPTIONS]"])
        panels: dict[str, list[tuple[str, str]]] = {}
        for param in params:
            is_argument = param.param_type_name == "argument"
            panel = param.rich_help_panel or (_ARGUMENTS if is_argument else _OPTIONS)
            panels.setdefault(panel, []).append((_written(param), _text_of(param)))
        panels.setdefault(_OPTIONS, []).extend(_OF_ALL)
        panels |= {title: panels.pop(title) for title in _LAST if title in panels}
        formatter.write(f"Usage: {usage}\n\n")
        formatter.write("\n".join([*_paragraphs(self.help or ""), ""]))
        for title, rows in panels.items():
            formatter.write("\n".join(_panel(title, rows)))
        formatter.write("\n".join(_paragraphs(self.epilog or "")))


def help_of_group(group: Any, ctx: Any, summaries: dict[str, str]) -> str:
    """Return the help of the application: usage, commands with ``summaries``, and its options."""
    options = [
        (_written(param), param.help or "")
        for param in group.get_params(ctx)
        if not _is_of_all(param)
    ]
    width = max(map(len, summaries))
    commands = [
        line
        for name, summary in summaries.items()
        for line in _wrapped(summary, first_indent=f"  {name:<{width}}  ", indent=" " * (width + 4))
    ]
    parts = [
        f"Usage: {ctx.command_path} COMMAND [OPTIONS]",
        "",
        *_paragraphs(group.help or ""),
        _title("Commands"),
        *commands,
        "",
        *_panel(_OPTIONS, [*options, *_OF_ALL]),
        *_paragraphs(group.epilog or ""),
    ]
    return "\n".join(parts)


def _is_repeatable(param: Any) -> bool:
    """Tell whether an option takes several values, one each time that it comes, or none."""
    return bool(param.multiple or param.is_flag)


def _is_of_all(param: Any) -> bool:
    """Tell whether a parameter is left out of the lists of a command.

    These are hidden parameters, and ``--help`` and ``--traceback``, which all commands have.
    """
    return param.hidden or bool({"--help", TRACEBACK}.intersection(param.opts))


def _written(param: Any) -> str:
    """Return a parameter as it is typed, such as ``-m, --model FILE`` or ``DATA...``."""
    if param.param_type_name == "argument":
        return (param.metavar or param.name.upper()) + ("..." if param.nargs == -1 else "")
    names = ", ".join(sorted(param.opts, key=len))
    return names if param.is_flag else f"{names} {param.metavar or param.name.upper()}"


def _text_of(param: Any) -> str:
    """Return the help text of a parameter, with its default unless that is None or a flag's."""
    text, default = param.help or "", param.default
    if param.param_type_name == "argument":
        return text
    if param.required or param.multiple or param.is_flag or default is None:
        return text
    return f"{text} Default: {default}."


def _title(text: str) -> str:
    return typer.style(f"{text}:", bold=True)


def _panel(title: str, rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield the lines of a group of options; ``rows`` are ``(option as typed, help text)``."""
    yield _title(title)
    for written, text in rows:
        yield f"  {typer.style(written, bold=True)}"
        yield from _wrapped(text, first_indent=" " * 6, indent=" " * 6)
    yield ""
    yield ""


def _paragraphs(text: str) -> Iterator[str]:
    """Yield the lines of wrapped paragraphs; indented paragraphs keep their lines."""
    for paragraph in textwrap.dedent(text).strip().split("\n\n"):
        is_block = paragraph.startswith(" ")
        yield from paragraph.splitlines() if is_block else _wrapped(paragraph, "", "")
        yield ""


def _wrapped(text: str, first_indent: str, indent: str) -> list[str]:
    """Return a text as lines that fit the terminal; the first is indented by ``first_indent``."""
    width = max(40, min(shutil.get_terminal_size().columns, _WIDEST))
    options: Any = {"break_long_words": False, "break_on_hyphens": False}
    plain = " ".join(text.split())
    return textwrap.wrap(
        plain, width, initial_indent=first_indent, subsequent_indent=indent, **options
    )

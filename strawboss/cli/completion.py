"""`strawboss completion`: what a shell evaluates to complete strawboss's commands."""

from __future__ import annotations

from collections.abc import Mapping

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

VARIABLE = "_STRAWBOSS_COMPLETE"


class Bash(BashComplete):
    """Bash splits words at the colons of our commands; so the words are made anew from the line, and of an answer only
    what comes after the last colon already typed is given back."""

    source_template = """\
%(complete_func)s() {
    local line="${COMP_LINE:0:COMP_POINT}" typed words response
    read -ra words <<< "$line"
    if [[ "$line" == *[[:space:]] ]]; then words+=(""); fi
    typed="${words[-1]}"
    response=$(env COMP_WORDS="$line" COMP_CWORD=$((${#words[@]} - 1)) %(complete_var)s=bash_complete $1)
    COMPREPLY=()
    while IFS=, read -r kind value; do
        case "$kind" in
            dir) COMPREPLY=(); compopt -o dirnames ;;
            file) COMPREPLY=(); compopt -o default ;;
            plain)
                if [[ "$COMP_WORDBREAKS" == *:* ]]; then value="${value#"${typed%%"${typed##*:}"}"}"; fi
                COMPREPLY+=("$value")
                ;;
        esac
    done <<< "$response"
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""


SHELLS: Mapping[str, type[ShellComplete]] = {"bash": Bash, "zsh": ZshComplete, "fish": FishComplete}


@click.command()
@click.argument("shell", type=click.Choice(list(SHELLS)))
def completion(shell: str) -> None:
    """Print the completion script of a shell.

    For bash, add `eval "$(strawboss completion bash)"` to ~/.bashrc; for zsh the same to ~/.zshrc; for fish, write
    the output to ~/.config/fish/completions/strawboss.fish.
    """
    root = click.get_current_context().find_root().command
    click.echo(SHELLS[shell](root, {}, "strawboss", VARIABLE).source())

"""How a script splits into commands and words."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from probes.files.job_config.shell_words import Script


def words(text: str) -> list[list[str]]:
    return [[word.text for word in command.words] for command in Script(text).commands() if command.words]


def test_quotes_keep_blanks_and_comments() -> None:
    assert words("a 'b # c' \"d  e\" f#g # h\n") == [["a", "b # c", "d  e", "f#g"]]


def test_commands_end_at_separators_and_redirections_are_dropped() -> None:
    assert words("a > out 2>&1; b && c | d &\n") == [["a"], ["b"], ["c"], ["d"]]


def test_a_quoted_array_keeps_its_items_and_a_bare_one_splits() -> None:
    assert words('A=("x y" z)\nrun "${A[@]}"\nrun ${A[@]}\n') == [["run", "x y", "z"], ["run", "x", "y", "z"]]


def test_continued_lines_keep_their_numbers() -> None:
    commands = [c for c in Script("run \\\n  --a 1 \\ \n  --b 2\n").commands() if c.words]
    assert [(w.text, w.line) for w in commands[0].words] == [("run", 1), ("--a", 2), ("1", 2), ("--b", 3), ("2", 3)]


def test_an_apostrophe_does_not_swallow_the_file() -> None:
    assert ["torchrun", "--nnodes", "2"] in words("echo it isn't here\ntorchrun --nnodes 2\n")


def test_arithmetic_of_known_numbers_and_nothing_else() -> None:
    assert words("A=4\nrun $((A * 2)) $((A * B)) $(date)\n") == [["run", "8", "$(...)", "$(...)"]]


def test_variables_that_double_each_other_stay_bounded() -> None:
    text = "A0='x x x x'\n" + "".join(f'A{n + 1}="$A{n} $A{n}"\n' for n in range(60)) + "run $A60\n"
    assert sum(len(command) for command in words(text)) <= 60_000


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="ab$(){}'\"\\\n #;|&<>=[@]*?-`", max_size=60))
def test_any_text_is_split_without_error(text: str) -> None:
    assert all(word.line >= 0 for command in Script(text).commands() for word in command.words)

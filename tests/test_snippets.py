"""Code to paste: it compiles, its names are explained, and it tells a broken training from a sound one."""

from __future__ import annotations

import ast
import builtins
import symtable
from pathlib import Path
from typing import Any

import pytest

from tests import pasted_loop, pasted_network
from tests.pasted import CASES, PIECES, printed, tiny
from tuimon.catalogue import ROWS, snippets
from tuimon.catalogue.procedure import PROCEDURES

MODULES = {"torch", "math"}


def used() -> set[str]:
    """All code in the table and in the procedures."""
    rows = {check.code for row in ROWS for check in row.checks}
    return {*rows, *(question.code for questions in PROCEDURES.values() for question in questions)} - {""}


def free_names(code: str) -> set[str]:
    """Names that the code takes from outside."""
    table = symtable.symtable(code, "snippet", "exec")
    made = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    inner = {child.get_name() for child in table.get_children()}
    loads = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
    local = {
        node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    arguments = {node.arg for node in ast.walk(ast.parse(code)) if isinstance(node, ast.arg)}
    return loads - made - inner - local - arguments - set(dir(builtins))


@pytest.mark.parametrize("name", PIECES)
def test_a_piece_compiles_fits_a_terminal_and_its_names_are_explained(name: str) -> None:
    code = PIECES[name]
    compile(code, name, "exec")
    assert max(map(len, code.splitlines())) <= snippets.WIDEST
    assert free_names(code) <= {*snippets.NAMES, *MODULES}


def test_all_code_of_the_table_is_of_these_pieces() -> None:
    pieces = set(PIECES.values())
    again = {snippets.PAIRS.replace("(loader)", "(val_loader)"), snippets.ONE_BATCH.replace("200", "1000")}
    assert used() <= pieces | again
    assert pieces <= used(), "a piece that nothing shows"


def test_every_piece_has_its_case() -> None:
    assert all(hasattr(pasted_loop, name.lower()) or hasattr(pasted_network, name.lower()) for name in CASES)
    assert set(CASES) == set(PIECES)


@pytest.mark.parametrize("name", CASES)
def test_a_piece_tells_a_broken_training_from_a_sound_one(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    torch.set_num_threads(1)
    assert CASES[name](torch)


@pytest.mark.parametrize("kind", ["tuple", "mapping"])
def test_the_birthplace_is_found_in_models_that_return_no_bare_tensor(kind: str) -> None:
    torch = pytest.importorskip("torch")

    class Part(torch.nn.Module):  # type: ignore[name-defined, misc]
        def forward(self, x: Any) -> Any:
            return (x, (x - 10).log()) if kind == "tuple" else {"a": x, "b": (x - 10).log()}

    class Whole(torch.nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.part = Part()
            self.head = torch.nn.Linear(4, 3)

        def forward(self, x: Any) -> Any:
            out = self.part(x)
            return (self.head(out[1] if kind == "tuple" else out["b"]),)

    def loss_fn(out: Any, y: Any) -> Any:
        return torch.nn.functional.cross_entropy(out[0], y)

    names = tiny(torch) | {"model": Whole(), "loss_fn": loss_fn}
    assert "in log of module part" in printed(PIECES["ORIGIN"], names)


def test_the_birthplace_is_found_where_batch_and_output_are_mappings() -> None:
    torch = pytest.importorskip("torch")
    outputs = pytest.importorskip("transformers.modeling_outputs")

    class Whole(torch.nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.head = torch.nn.Linear(4, 3)

        def forward(self, inputs: Any, labels: Any) -> Any:
            logits = self.head(inputs).sub(100).log()
            loss = torch.nn.functional.cross_entropy(logits, labels)
            return outputs.SequenceClassifierOutput(loss=loss, logits=logits)

    names = tiny(torch)
    names |= {"model": Whole(), "batch": {"inputs": names["x"], "labels": names["y"]}}
    exec("loss_fn = " + snippets.NAMES["batch"].partition("loss_fn = ")[2], names)
    assert "in log of module" in printed(PIECES["ORIGIN"], names)


def test_a_mean_by_hand_over_no_labels_kills_the_weights_and_the_library_s_does_not() -> None:
    torch = pytest.importorskip("torch")
    y = torch.full((5,), -100)
    by_library, by_hand = torch.randn(5, 4, requires_grad=True), torch.randn(5, 4, requires_grad=True)
    loss = torch.nn.functional.cross_entropy(by_library, y)
    loss.backward()
    assert loss.isnan() and not by_library.grad.any()
    mask = y != -100
    each = torch.nn.functional.cross_entropy(by_hand, y.clamp(min=0), reduction="none")
    ((each * mask).sum() / mask.sum()).backward()
    assert by_hand.grad.isnan().any()
    by_hand.grad = None
    each = torch.nn.functional.cross_entropy(by_hand, y.clamp(min=0), reduction="none")
    ((each * mask).sum() / mask.sum().clamp(min=1)).backward()
    assert not by_hand.grad.any()

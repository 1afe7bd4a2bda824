"""The generated corpus: its loop is the textbook one, its labels follow from what happened, its scorer counts right."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

# At the end of the path: `tests` has to be found, and `tuimon` must stay the installed one.
sys.path.append(str(Path(__file__).parents[1]))
np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")

from tests.quality.architectures import Part  # noqa: E402
from tests.quality.corpus import Run, find, generate, load, stacks  # noqa: E402
from tests.quality.derived import DERIVED  # noqa: E402
from tests.quality.judged import GROUP_OF, judge_run  # noqa: E402
from tests.quality.oracle import Truth, judge  # noqa: E402
from tests.quality.printed import aligned, markdown, rows_table  # noqa: E402
from tests.quality.recipes import PLANTINGS, recipes  # noqa: E402
from tests.quality.rivals import patience, six_sigma, ten_times_early, three_times_mean  # noqa: E402
from tests.quality.tally import by_row, silence, upper_bound  # noqa: E402
from tests.quality.training import Recipe, Stack, train  # noqa: E402
from tests.quality.variants import VARIANTS, Variant, batch  # noqa: E402
from tuimon.catalogue import BY_SIGNATURE  # noqa: E402

SEEDS = range(3)
# On a busy machine two threads wait for each other at every tiny product: fifty times slower.
torch.set_num_threads(1)


def recipe_named(name: str, arch: str, **changes: Any) -> Recipe:
    part = "report" if arch in ("cnn", "transformer", "contrastive", "policy") else "tune"
    return replace(next(r for r in recipes(part) if r.name == name and r.arch == arch), **changes)


def first_run(name: str, arch: str, **changes: Any) -> Run:
    """The first seed of a small stack, labelled."""
    recipe = recipe_named(name, arch, **changes)
    trained = train(recipe, SEEDS)
    columns = {key: (steps, values[:, 0]) for key, (steps, values) in trained.columns.items()}
    hidden = {key: values[:, 0] for key, values in trained.hidden.items()} | {"probe_steps": trained.probe_steps}
    hidden["classes"] = np.array(trained.meta.get("num_classes", 0))
    truth = judge(recipe, columns, hidden, int(trained.at[0]))
    return Run(f"tune/{recipe.key}/0", "tune", name, arch, columns, trained.meta, recipe.steps, truth)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("sgd", lambda p: torch.optim.SGD([p], lr=0.1)),
        ("momentum", lambda p: torch.optim.SGD([p], lr=0.1, momentum=0.9)),
        ("adam", lambda p: torch.optim.Adam([p], lr=0.1)),
    ],
)
def test_the_stacked_optimizer_takes_the_steps_of_torch(
    ours: str, theirs: Callable[[torch.nn.Parameter], torch.optim.Optimizer]
) -> None:
    stack = Stack(recipe_named("plain", "mlp", optimizer=ours), SEEDS)
    lone = torch.nn.Parameter(stack.weights[1].clone())
    optimizer = theirs(lone)
    for step in range(5):
        gradients = torch.randn(stack.weights.shape, generator=torch.Generator().manual_seed(step))
        lone.grad = gradients[1].clone()
        optimizer.step()
        stack.update(gradients, torch.full((len(SEEDS),), 0.1))
        stack.now.step += 1
    torch.testing.assert_close(stack.weights[1], lone.detach())


@pytest.mark.parametrize("arch", ["mlp", "cnn", "transformer", "contrastive", "gan", "policy"])
def test_a_seed_in_a_stack_has_the_loss_and_gradient_that_it_has_alone(arch: str) -> None:
    name = arch if arch in ("gan", "policy") else "plain"
    stack = Stack(recipe_named(name, arch), SEEDS)
    x, y = stack.world.draw(8, stack.rng)
    weights = stack.weights.clone().requires_grad_()
    losses = torch.func.vmap(stack._plain_loss)(weights, x, y)
    (together,) = torch.autograd.grad(losses.sum(), weights)
    pick = lambda part: tuple(v[2] for v in part) if isinstance(part, tuple) else part[2]  # noqa: E731
    lone = stack.weights[2].clone().requires_grad_()
    loss = stack._plain_loss(lone, pick(x), pick(y))
    (alone,) = torch.autograd.grad(loss, lone)
    torch.testing.assert_close(losses[2], loss)
    torch.testing.assert_close(together[2], alone, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("fault", "arch", "row"),
    [
        ("nan-batch", "mlp", "nan-forward"),
        ("sqrt-at-zero", "mlp", "nan-backward"),
        ("masked-log", "mlp", "nan-backward"),
        ("empty-batch", "mlp", "nan-empty-batch"),
        ("filter-zero", "mlp", "nan-masked"),
        ("log-of-zero", "mlp", "inf-first"),
        ("zero-over-zero", "gan", "nan-forward"),
        ("nan-inputs", "mlp", "nan-first-step"),
        ("detached", "mlp", "zero-gradient"),
        ("not-in-optimizer", "mlp", "frozen-weights"),
    ],
)
def test_a_planted_fault_is_labelled_with_its_row_and_the_monitor_dates_it_exactly(
    fault: str, arch: str, row: str
) -> None:
    run = first_run(fault, arch, steps=120)
    assert run.truth.row == row
    judged = judge_run(run)
    assert judged.right
    assert judged.error.onset == 0
    assert not judged.false_failures


def test_an_ordinary_training_learns_and_nothing_is_said_of_it() -> None:
    run = first_run("plain", "mlp", steps=300)
    assert run.truth.row == "healthy"
    assert judge_run(run).said == ""


def test_a_learning_rate_that_overflows_is_dated_where_the_loss_left_its_level() -> None:
    run = first_run("overflow", "regression", steps=200)
    assert run.truth.row == "nan-after-growth"
    assert run.truth.growth < run.truth.onset
    assert abs(judge_run(run).error.onset) <= 3


def test_the_same_seeds_train_to_the_same_numbers() -> None:
    recipe = recipe_named("plain", "regression", steps=20)
    first, second = train(recipe, SEEDS), train(recipe, SEEDS)
    assert (first.columns["loss"][1] == second.columns["loss"][1]).all()


def test_tune_and_report_share_no_architecture_and_no_seed() -> None:
    tune, report = ({r.arch for r in recipes(part)} for part in ("tune", "report"))
    assert not tune & report
    seeds = [{seed for *_, numbers, _ in stacks(part, 20, Path()) for seed in numbers} for part in ("tune", "report")]
    assert not seeds[0] & seeds[1]


def test_every_planted_row_is_a_row_of_the_catalogue() -> None:
    assert {p.row for p in PLANTINGS} - {"healthy"} <= set(BY_SIGNATURE)
    assert {p.row for p in PLANTINGS} - {"healthy"} <= set(GROUP_OF)


def test_every_planting_has_its_own_name() -> None:
    assert len({p.name for p in PLANTINGS}) == len(PLANTINGS)


def small_run(loss: list[float], truth: Truth = Truth("healthy")) -> Run:  # noqa: B008
    steps = np.arange(len(loss))
    falling = 1 / (1 + steps[::5])
    columns = {"loss": (steps, np.array(loss)), "grad_norm": (steps, 1 + falling.repeat(5)[: len(loss)])}
    columns["val_loss"] = (steps[::5], falling)
    return Run("tune/made-up/mlp-sgd/0", "tune", "made-up", "mlp", columns, {"objective": "mse"}, len(loss), truth)


def test_a_variant_logs_fewer_steps_but_every_validation() -> None:
    made = batch(small_run([1.0] * 20), Variant("every 10", interval=10))
    assert [v is not None for v in made.columns["loss"]].count(True) == 2
    assert [v for v in made.columns["val_loss"] if v is not None] == [1.0, 1 / 6, 1 / 11, 1 / 16]


def test_a_variant_scales_shifts_rounds_and_leaves_out() -> None:
    made = batch(
        small_run([1.23456]), Variant("odd", scale=10, shift=-20, digits=2, without=("grad_norm",), declared=False)
    )
    assert made.columns["loss"][0] == -7.65
    assert "grad_norm" not in made.columns
    assert made.marks == ()


def test_every_variant_makes_a_batch_of_every_column_that_it_keeps() -> None:
    run = small_run([1.0] * 60)
    assert all(len(batch(run, variant)) > 0 for variant in VARIANTS)


def test_rows_about_the_log_are_said_and_no_failure_with_them() -> None:
    run = first_run("plain", "regression", steps=1000)
    for row, make in DERIVED.items():
        findings = make(run).findings
        assert row in {finding.signature for finding in findings}, row
        assert not [finding for finding in findings if finding.severity == "failure"], row


def test_the_bound_without_an_event_is_the_rule_of_three() -> None:
    assert upper_bound(0) == pytest.approx(3, abs=0.01)
    assert upper_bound(10) < upper_bound(11) < 20


def test_a_failure_before_the_fault_is_a_false_one() -> None:
    loss = [1.0 + 0.01 * (i % 7) for i in range(200)] + [math.nan] * 20
    honest = judge_run(small_run(loss, Truth("nan-forward", 200, planted=200)))
    assert honest.right
    assert not honest.false_failures
    late = judge_run(small_run(loss, Truth("nan-forward", 210, planted=210)))
    assert late.false_failures


def test_the_tally_counts_recall_confusion_and_silence() -> None:
    loss = [1.0 + 0.01 * (i % 7) for i in range(100)]
    runs = [small_run([*loss, math.nan, math.nan], Truth("nan-val-only", 100, planted=100)), small_run(loss)]
    judged = [judge_run(run) for run in runs]
    score = by_row(judged)["nan-val-only"]
    assert (score.runs, score.exact, score.family) == (1, 0, 1)
    assert silence(judged).runs == 1
    assert silence(judged).steps == 200
    table = rows_table(judged)
    assert "nan-val-only" in aligned(table)
    assert markdown(table).count("\n") == len(table)


def test_the_rules_of_others_alarm_where_their_descriptions_say() -> None:
    calm = np.array([1.0, 1.1] * 100)
    assert three_times_mean(np.append(calm, 3.3)) == 200
    assert three_times_mean(np.append(calm, 3.0)) is None
    assert six_sigma(np.append(calm, 1.36)) == 200
    assert six_sigma(np.append(calm, 1.34)) is None
    assert ten_times_early(np.append(calm, 11.1)) == 200
    assert patience(np.append(calm, 0.5)) is None
    assert patience(np.append(calm, [1.0, 1.0])) == 200


def test_a_stack_is_trained_once_and_then_read_from_the_cache(tmp_path: Path) -> None:
    generate("tune", 2, tmp_path, jobs=1, only="broken-init")
    stored = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert len(stored) == 1
    run = find("tune/broken-init/regression-sgd/1", 2, tmp_path)
    assert run.truth.row == "nan-first-step"
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == stored


@pytest.mark.long
@pytest.mark.parametrize("part", ["tune", "report"])
def test_the_whole_corpus_holds_what_the_table_claims(part: Part) -> None:
    generate(part)
    judged = [judge_run(run) for run in load(part)]
    quiet = silence(judged)
    assert quiet.runs >= 150
    assert quiet.failures == 0
    assert quiet.warned_runs * 50 <= quiet.runs
    assert {x.row for x in PLANTINGS} - {"healthy"} <= set(by_row(judged))

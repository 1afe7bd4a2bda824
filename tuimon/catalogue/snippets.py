"""Code to paste into a training script, and what its names stand for. Every piece is run in a test, sound and broken.

Lines have at most WIDEST columns, so that they can be selected in a terminal of 80.
"""

WIDEST = 73

NAMES = {
    "model": "",
    "optimizer": "",
    "scaler": "",
    "step": "",
    "loss": "",
    "num_classes": "",
    "loader": "the training batches",
    "train_loader": "the training batches",
    "val_loader": "the validation batches",
    "batch": "(x, y) as the loader gives it, or a mapping; then loss_fn = lambda out, batch: out.loss",
    "x": "inputs of one batch",
    "y": "labels of one batch",
    "logits": "model(x)",
    "loss_fn": "your loss, called as loss_fn(model(x), y)",
    "run": "the RunWriter",
}
"""Names in the code that stand for what the reader has, and what they mean where the name does not say it."""

RATE = 'print(step, [group["lr"] for group in optimizer.param_groups])'
STATE = """\
held = sum(len(group["params"]) for group in optimizer.param_groups)
print(len(optimizer.state), "of", held)"""
SUMMED = """\
one = loss_fn(model(x), y).item()
two = loss_fn(model(torch.cat([x, x])), torch.cat([y, y])).item()
print(two / one)"""
MODES = "print([name for name, m in model.named_modules() if not m.training])"
SIZES = """\
weights = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print(step, logits.abs().max().item(), weights)"""
BATCH = """\
print(step, tuple(x.shape), x.float().mean(), x.float().abs().max())
torch.save(batch, f"batch-{step}.pt")"""
SECOND_MOMENTS = """\
saved = torch.load("good.pt")["optimizer"]["state"]
for state in (optimizer.state, saved):
    print(max(s["exp_avg_sq"].max().item() for s in state.values()))"""
LAYER_NORMS = """\
for name, p in model.named_parameters():
    if p.grad is not None:
        print(f"{p.grad.norm().item():9.2e}  {name}")"""
KEEP = """\
safe = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
torch.save(safe, f"safe-{step}.pt")"""
CLIPPED = """\
norms = [p.grad.norm() for p in model.parameters() if p.grad is not None]
print(step, torch.stack(norms).norm().item())"""
HALVE = """\
for group in optimizer.param_groups:
    group["lr"] /= 2"""
TENTH = """\
for group in optimizer.param_groups:
    group["lr"] /= 10"""
TENFOLD = """\
for group in optimizer.param_groups:
    group["lr"] *= 10"""
LEFT_OVER = """\
print([name for name, p in model.named_parameters()
       if p.grad is not None and p.grad.any()])"""
CROSS_ENTROPY = """\
right = -logits.log_softmax(-1).gather(-1, y[:, None]).mean()
print(loss.item(), right.item())"""
FINITE_BATCH = """\
for part in (x, y):
    print(part.isfinite().all().item(), part.min(), part.max())"""
ORIGIN = """\
from tuimon.torch import find_origin
print(find_origin(model, loss_fn, batch))"""
ANOMALY = """\
with torch.autograd.set_detect_anomaly(True):
    loss_fn(model(x), y).backward()"""
FP32 = """\
model.zero_grad()
with torch.autocast(x.device.type, enabled=False):
    loss = loss_fn(model(x), y)
loss.backward()
norm = torch.nn.utils.clip_grad_norm_(model.parameters(), float("inf"))
print(loss.item(), norm.item())"""
UNMASKED = 'print((y != -100).sum().item(), "of", y.numel())'
UNSCALED = """\
scaler.scale(loss).backward()
scaler.unscale_(optimizer)
torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
scaler.step(optimizer)
scaler.update()"""
REAL_LOSS = "print(step, loss.item())"
BROKEN_STATE = """\
print([name for name, t in model.state_dict().items()
       if not t.isfinite().all()])"""
BAD_EVALUATIONS = """\
model.eval()
with torch.no_grad():
    losses = [loss_fn(model(x), y) for x, y in val_loader]
print(len(losses), [i for i, v in enumerate(losses) if not v.isfinite()])
model.train()"""
GRAPH = """\
print(loss.requires_grad)
print(sum(p.requires_grad for p in model.parameters()))"""
NO_GRADIENT = """\
print([name for name, p in model.named_parameters()
       if p.grad is None or not p.grad.any()])"""
MOVES = """\
before = [p.detach().clone() for p in model.parameters()]
optimizer.step()
pairs = zip(before, model.parameters())
print(max((a - b).abs().max().item() for a, b in pairs))"""
NOT_HELD = """\
held = {id(p) for g in optimizer.param_groups for p in g["params"]}
print([n for n, p in model.named_parameters() if id(p) not in held])"""
ONE_BATCH = """\
batch = next(iter(loader))
loader = [batch] * 200"""
PAIRS = """\
x, y = next(iter(loader))
for i in range(10):
    print(y[i].tolist(), x[i].flatten()[:8].tolist())"""
SPREADS = """\
out, inputs = model(x), x.float()
print(out.std(dim=0).mean().item(), inputs.std(dim=0).mean().item())"""
PROBABILITIES = "print(logits.min().item(), logits.sum(-1)[:5].tolist())"
DEAD_UNITS = """\
def look(module, inputs, output):
    if isinstance(module, torch.nn.ReLU):
        units = output.movedim(1, -1) if output.ndim > 3 else output
        dead = (units.flatten(0, -2) <= 0).all(dim=0)
        print(f"{dead.float().mean().item():.2f}  {module}")
with torch.nn.modules.module.register_module_forward_hook(look):
    model(x)"""
FAR_OUT = """\
ends = {torch.nn.Tanh: (-0.97, 0.97), torch.nn.Sigmoid: (0.015, 0.985)}
def look(module, inputs, output):
    if type(module) in ends:
        low, high = ends[type(module)]
        far = (output < low) | (output > high)
        print(f"{far.float().mean().item():.2f}  {module}")
with torch.nn.modules.module.register_module_forward_hook(look):
    model(x)"""
BOTH_SETS = """\
for each in (train_loader, val_loader):
    x, y = next(iter(each))
    x, y = x.float(), y.float()
    print(x.mean().item(), x.std().item(), y.mean().item())"""
EVALUATED_ALIKE = """\
model.eval()
with torch.no_grad():
    for each in (train_loader, val_loader):
        losses = [loss_fn(model(x), y).item() for x, y in each]
        print(sum(losses) / len(losses))
model.train()"""
LEAKED = """\
def mark(one): return hash(one.cpu().numpy().tobytes())
seen = {mark(one) for x, _ in train_loader for one in x}
print(sum(mark(one) in seen for x, _ in val_loader for one in x))"""
INITIAL = """\
print(loss.item(), math.log(num_classes), len(x))
print(logits.std().item())"""
NORM = """\
norm = torch.nn.utils.clip_grad_norm_(model.parameters(), float("inf"))
run.log(step, loss=loss, grad_norm=norm)"""
PREFLIGHT = """\
from tuimon.torch import preflight
print(preflight(model, loss_fn, loader, optimizer=optimizer))"""
SEEDED = "torch.manual_seed(0)"

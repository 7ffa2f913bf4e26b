"""One training loop for the neural peers: Adam with a warm start, gradients clipped, a running mean of the weights,
early stopping on it."""
import time

import torch

ROUND, PATIENCE, MEAN = 50, 5, 100


def trained(make, loss, judge, rate, seed, most, until):
    """The running mean of the weights of make(), and its number of steps. loss(m, rng): sum and number of a batch;
    judge(m): what is least at the best step, or None: `most` steps. Ends when time.monotonic() is past `until`."""
    torch.manual_seed(seed)
    rng = torch.Generator().manual_seed(seed)
    m, slow = make(), make()
    slow.load_state_dict(m.state_dict())
    slow.eval()
    weights, means = list(m.parameters()), list(slow.parameters())
    opt = torch.optim.Adam(weights, lr=rate, fused=True)
    best = None
    for step in range(1, most + 1):
        opt.param_groups[0]["lr"] = rate * min(1, step / MEAN)
        total, n = loss(m, rng)
        opt.zero_grad(set_to_none=True)
        (total / n.clamp(min=1)).backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        opt.step()
        with torch.no_grad():
            torch._foreach_lerp_(means, weights, 1 / min(step, MEAN))
        late = step % 10 == 0 and time.monotonic() > until
        if judge and (step % ROUND == 0 or step == most or late):
            score = judge(slow)
            score = score if score == score else float("inf")
            if best is None or score < best[0]:
                best = score, step, {k: v.clone() for k, v in slow.state_dict().items()}
            if step - best[1] >= PATIENCE * ROUND:
                break
        if late:
            break
    if judge:
        slow.load_state_dict(best[2])
    return slow, best[1] if judge else step

"""Text logs: every layout and every trap as a few lines, with what must be read from them."""

# ruff: noqa: E501, ISC004 - the lines of a log stand here as a trainer prints them, long, and several make one text
from __future__ import annotations

import math
import random
import time
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuimon.record import Batch
from tuimon.sources.base import LONGEST_LINE
from tuimon.sources.tail import Chunk, Tail
from tuimon.sources.text import TextLog

NAN = math.nan
INF = math.inf


class Pieces:
    """Bytes that come in pieces, cut at the ends of lines."""

    name = "run.log"
    ended = False

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self._pieces = list(pieces)
        self._rest = b""
        self._line = 1

    def read(self, limit: int = 0) -> Chunk:
        """The whole lines of the next piece."""
        if not self._pieces:
            return Chunk()
        self._rest += self._pieces.pop(0).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        end = self._rest.rfind(b"\n") + 1
        text, self._rest = self._rest[:end], self._rest[end:]
        first, self._line = self._line, self._line + text.count(b"\n")
        return Chunk(text, first, more=bool(self._pieces))

    def finish(self) -> Chunk:
        """What had no newline."""
        rest, self._rest = self._rest, b""
        return Chunk(rest + b"\n" if rest else b"", self._line)

    def close(self) -> None:
        """Nothing to do."""


def batches(log: TextLog) -> list[Batch]:
    """Everything a log holds."""
    result = [log.read()]
    while result[-1].more:
        result.append(log.read())
    return [*result, log.finish()]


def records(pieces: Sequence[bytes], head: bytes = b"") -> list[tuple[int, dict[str, float]]]:
    """(step, metrics) of every record."""
    found = []
    for batch in batches(TextLog(Pieces(pieces), head=head)):
        for i, step in enumerate(batch.steps):
            metrics = {name: column[i] for name, column in batch.columns.items()}
            found.append((step, {name: value for name, value in sorted(metrics.items()) if value is not None}))
    return found


def read(text: str) -> list[tuple[int, dict[str, float]]]:
    """The records of a text that was complete when it was opened."""
    return records([text.encode()], text.encode())


def series(text: str, role: str) -> list[tuple[int, float]]:
    """The values of one role by step, the last one of each step."""
    return list({step: metrics[role] for step, metrics in read(text) if role in metrics}.items())


def same(one: object, other: object) -> bool:
    """Equality in which NaN equals NaN."""
    return repr(one) == repr(other)


# name -> (text, role -> expected (step, value) pairs)
LAYOUTS: dict[str, tuple[str, dict[str, list[tuple[int, float]]]]] = {
    "colon": (
        "step: 10 loss: 2.75 lr: 1e-3\nstep: 20 loss: 2.5 lr: 5e-4\n",
        {"loss": [(10, 2.75), (20, 2.5)], "lr": [(10, 1e-3), (20, 5e-4)]},
    ),
    "equals": ("step=1, loss=3.25, grad_norm=0.75\nstep=2, loss=3.0, grad_norm=0.5\n", {"loss": [(1, 3.25), (2, 3.0)]}),
    "blanks only": ("iter 4 loss 1.25 lr 0.01\niter 8 loss 1.125 lr 0.01\n", {"loss": [(4, 1.25), (8, 1.125)]}),
    "nanoGPT": (
        "step 0: train loss 4.2010, val loss 4.2133\niter 0: loss 4.2077, time 812.20ms, mfu -100.00%\n"
        "iter 10: loss 3.1077, time 33.10ms, mfu 12.10%\nstep 20: train loss 2.5010, val loss 2.6133\n"
        "iter 20: loss 2.4077, time 35.10ms, mfu 12.00%\n",
        {"loss": [(0, 4.2077), (10, 3.1077), (20, 2.4077)], "val_loss": [(0, 4.2133), (20, 2.6133)]},
    ),
    "modded-nanogpt": (
        "step:0/40 val_loss:10.8123 train_time:0ms step_avg:nanms\nstep:1/40 train_loss:10.8111 train_time:90ms step_avg:nanms\n"
        "step:2/40 train_loss:9.9123 train_time:180ms step_avg:90.11ms\n",
        {"loss": [(1, 10.8111), (2, 9.9123)], "val_loss": [(0, 10.8123)]},
    ),
    "short names": (
        "s:0 tel:10.9912\ns:0 trl:10.9811 lr:0.000001 norm:15.10\ns:1 trl:10.7811 lr:0.000002 norm:14.20\n",
        {"loss": [(0, 10.9811), (1, 10.7811)], "val_loss": [(0, 10.9912)], "grad_norm": [(0, 15.1), (1, 14.2)]},
    ),
    "llm.c": (
        "| learning rate (LR)    | 6.000000e-04                                       |\nval loss 10.912345\n"
        "step    1/1200 | loss 10.812345 (+nanz)| norm 14.0123 (+nanz)| lr 1.10e-06 | 812.10 ms | 30.1% bf16 MFU | 12391 tok/s\n"
        "step    2/1200 | loss 10.412345 (-0.12z)| norm 12.0123 (+1.10z)| lr 2.10e-06 | 802.10 ms | 30.2% bf16 MFU | 12491 tok/s\n",
        {
            "loss": [(1, 10.812345), (2, 10.412345)],
            "grad_norm": [(1, 14.0123), (2, 12.0123)],
            "val_loss": [(0, 10.912345)],
        },
    ),
    "Megatron": (
        " iteration       10/    5000 | consumed samples:          640 | elapsed time per iteration (ms): 1214.2 | learning rate: "
        "1.500E-05 | global batch size:    64 | lm loss: 9.871234E+00 | loss scale: 4096.0 | grad norm: 3.125 | number of skipped "
        "iterations:   0 | number of nan iterations:   0 |\ntime (ms) | forward-compute: 101.10 | optimizer: 12.50\n"
        " iteration       20/    5000 | consumed samples:         1280 | elapsed time per iteration (ms): 1204.2 | learning rate: "
        "3.000E-05 | global batch size:    64 | lm loss: 9.171234E+00 | loss scale: 4096.0 | grad norm: 2.125 | number of skipped "
        "iterations:   0 | number of nan iterations:   0 |\n"
        "-----------------------------------------------------------\n"
        " validation loss at iteration 20 | lm loss value: 9.271234E+00 | lm loss PPL: 1.062E+04 |\n",
        {
            "loss": [(10, 9.871234), (20, 9.171234)],
            "grad_norm": [(10, 3.125), (20, 2.125)],
            "lr": [(10, 1.5e-5), (20, 3e-5)],
            "val_loss": [(20, 9.271234)],
        },
    ),
    "torchtitan": (
        "[rank0]:[titan] 2026-03-01 10:00:00,123 - root - INFO - step:  8  loss:  5.12340  grad_norm:  1.2500  memory:  9.10GiB(62.1%)"
        "  tps: 7,282  tflops: 0.52  mfu: 0.17%\n"
        "[rank0]:[titan] 2026-03-01 10:00:01,123 - root - INFO - step:  9  loss:  5.02340  grad_norm:  1.1500  memory:  9.10GiB(62.1%)"
        "  tps: 7,312  tflops: 0.52  mfu: 0.17%\n",
        {"loss": [(8, 5.1234), (9, 5.0234)], "grad_norm": [(8, 1.25), (9, 1.15)]},
    ),
    "DeepSpeed": (
        "[2023-08-11 10:10:01,123] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=0, lr=[9.5e-06, 9.5e-06], loss=3.25\n"
        "[2023-08-11 10:10:11,123] [INFO] [logging.py:96:log_dist] [Rank 0] step=20, skipped=0, lr=[9.0e-06, 9.0e-06], loss=3.05\n",
        {"loss": [(10, 3.25), (20, 3.05)], "lr": [(10, 9.5e-6), (20, 9e-6)]},
    ),
    "fairseq, pipes": (
        "2021-03-01 10:00:00 | INFO | train_inner | epoch 001:    100 / 1553 loss=13.215, nll_loss=12.986, ppl=8112.3, num_updates=100, "
        "lr=1.25e-05, gnorm=3.215, wall=20\n"
        "2021-03-01 10:00:16 | INFO | train_inner | epoch 001:    200 / 1553 loss=11.015, nll_loss=10.586, ppl=1537.3, num_updates=200, "
        "lr=2.5e-05, gnorm=2.115, wall=36\n"
        "2021-03-01 10:05:00 | INFO | valid | epoch 001 | valid on 'valid' subset | loss 9.512 | nll_loss 8.812 | num_updates 210\n",
        {"loss": [(100, 13.215), (200, 11.015)], "grad_norm": [(100, 3.215), (200, 2.115)], "val_loss": [(210, 9.512)]},
    ),
    "fairseq, JSON": (
        '2021-06-11 12:10:11 | INFO | train_inner | {"epoch": 1, "update": 0.064, "loss": "15.215", "num_updates": "100", "lr": '
        '"1.25e-05", "gnorm": "4.2"}\n'
        '2021-06-11 12:10:43 | INFO | train_inner | {"epoch": 1, "update": 0.128, "loss": "13.415", "num_updates": "200", "lr": '
        '"2.5e-05", "gnorm": "3.1"}\n',
        {"loss": [(100, 15.215), (200, 13.415)], "grad_norm": [(100, 4.2), (200, 3.1)]},
    ),
    "OpenNMT": (
        "[2019-01-01 10:00:00,801 INFO] Step 50/10000; acc:  18.42; ppl: 97.46; xent: 4.57; lr: 0.00030; 12686/437 tok/s;     45 sec\n"
        "[2019-01-01 10:00:40,801 INFO] Step 100/10000; acc:  20.42; ppl:   nan; xent:  nan; lr: 0.00031; 12686/437 tok/s;     85 sec\n",
        {"loss": [(50, 4.57), (100, NAN)], "lr": [(50, 0.0003), (100, 0.00031)]},
    ),
    "nnU-Net": (
        "2022-06-20 07:56:48.872122: \nepoch:  3 \n2022-06-20 07:57:38.016679: train loss : -0.3188 \n"
        "2022-06-20 07:57:41.970286: validation loss: -0.2696 \n"
        "2022-06-20 07:57:41.971286: Average global foreground Dice: [0.8667, 0.0009] \n"
        "2022-06-20 07:57:42.998433: This epoch took 54.126240 s\n \n2022-06-20 07:57:42.998909: \nepoch:  4 \n"
        "2022-06-20 07:58:52.649420: train loss : -0.3787 \n2022-06-20 07:58:56.855810: validation loss: -0.2994 \n",
        {"loss": [(3, -0.3188), (4, -0.3787)], "val_loss": [(3, -0.2696), (4, -0.2994)]},
    ),
    "darknet": (
        "Region 16 Avg IOU: 0.41, Class: 0.45, Obj: 0.50, No Obj: 0.48, .5R: 0.375000,  count: 8\n"
        "Region 23 Avg IOU: -nan, Class: -nan, Obj: -nan, No Obj: 0.55, .5R: -nan,  count: 0\n\n"
        " 7: 512.250000, 510.125000 avg loss, 0.000100 rate, 2.05 seconds, 448 images\nLoaded: 6.9 seconds\n"
        " 8: 508.250000, 509.125000 avg loss, 0.000100 rate, 2.01 seconds, 512 images\n",
        {"loss": [(7, 512.25), (8, 508.25)], "lr": [(7, 0.0001), (8, 0.0001)]},
    ),
    "darknet with epochs": (
        "901, 0.090: 6.907125, 6.910250 avg, 0.081250 rate, 0.385639 seconds, 115328 images\n"
        "902, 0.090: 6.807125, 6.900250 avg, 0.081250 rate, 0.384639 seconds, 115456 images\n",
        {"loss": [(901, 6.907125), (902, 6.807125)]},
    ),
    "caffe": (
        "I0911 15:47:40.728682 4385 solver.cpp:330] Iteration 0, Testing net (#0)\n"
        "I0911 15:47:40.828682 4385 solver.cpp:397]     Test net output #1: loss = 2.302625 (* 1 = 2.302625 loss)\n"
        "I0911 15:47:41.728682 4385 solver.cpp:218] Iteration 0 (1.64067 iter/s, 60.9509s/100 iters), loss = 2.312500\n"
        "I0911 15:47:41.728765 4385 solver.cpp:237]     Train net output #0: softmax_loss = 2.312500 (* 1 = 2.312500 loss)\n"
        "I0911 15:47:41.728796 4385 sgd_solver.cpp:105] Iteration 0, lr = 0.125\n"
        "I0911 15:48:42.821414 4385 solver.cpp:218] Iteration 100 (1.61056 iter/s, 62.0901s/100 iters), loss = 2.012500\n"
        "I0911 15:48:42.821503 4385 sgd_solver.cpp:105] Iteration 100, lr = 0.125\n",
        {"loss": [(0, 2.3125), (100, 2.0125)], "val_loss": [(0, 2.302625)], "lr": [(0, 0.125), (100, 0.125)]},
    ),
    "mmdetection": (
        "2021-05-01 10:00:00,123 - mmdet - INFO - Epoch [1][50/200]\tlr: 1.978e-03, eta: 1 day, 2:03:04, time: 0.523, memory: 3900, "
        "loss_cls: 1.2003, loss: 1.9383, grad_norm: 4.25\n"
        "2021-05-01 10:00:26,123 - mmdet - INFO - Epoch [1][100/200]\tlr: 3.976e-03, eta: 23:03:04, time: 0.503, memory: 3900, "
        "loss_cls: 0.9003, loss: 1.6373, grad_norm: 4.15\n"
        "2021-05-01 11:00:26,123 - mmdet - INFO - Epoch(val) [1][500]\tbbox_mAP: 0.1230\n"
        "2021-05-01 11:10:00,123 - mmdet - INFO - Epoch [2][50/200]\tlr: 3.978e-03, eta: 20:03:04, time: 0.523, memory: 3900, "
        "loss_cls: 0.8003, loss: 1.5383, grad_norm: 4.05\n",
        {"loss": [(50, 1.9383), (100, 1.6373), (250, 1.5383)], "grad_norm": [(50, 4.25), (100, 4.15), (250, 4.05)]},
    ),
    "mmengine": (
        "2023/06/05 20:10:13 - mmengine - INFO - Epoch(train)   [1][1/4]  lr: 4.000000e-08  eta: 4:59:11  time: 9.97  data_time: 9.01"
        "  loss: 0.4219  loss_kpt: 0.4219\n"
        "2023/06/05 20:10:22 - mmengine - INFO - Epoch(train)   [2][1/4]  lr: 2.105642e-04  eta: 4:30:58  time: 9.04  data_time: 8.08"
        "  loss: 0.3221  loss_kpt: 0.3221\n",
        {"loss": [(1, 0.4219), (5, 0.3221)]},
    ),
    "Paddle": (
        "[2021-01-01 10:00:00,000] [    INFO] - global step 10, epoch: 1, batch: 9, loss: 2.71230, reader_cost: Nanxxx, speed: 3.1 step/s\n"
        "[2021-01-01 10:00:03,000] [    INFO] - global step 20, epoch: 1, batch: 19, loss: 2.51230, reader_cost: Nanxxx, speed: 3.1 step/s\n",
        {"loss": [(10, 2.7123), (20, 2.5123)]},
    ),
    "Paddle, three lines a batch": (
        "epoch id: 0, batch step: 0, g_loss: 24.633530\nepoch0; batch0; g_loss:24.6335; d_A_loss: 3.6457; d_B_loss:3.00 ; \n"
        " g_A_loss: 5.1018; g_B_loss: 2.2882;Batch_time_cost: 2.01\n"
        "epoch id: 0, batch step: 1, g_loss: 20.633530\nepoch0; batch1; g_loss:20.6335; d_A_loss: 2.6457; d_B_loss:2.00 ; \n"
        " g_A_loss: 4.1018; g_B_loss: 2.1882;Batch_time_cost: 1.01\n",
        {"loss": [(0, 24.6335), (1, 20.6335)]},
    ),
    "detectron2": (
        "[11/01 19:16:15 d2.utils.events]: eta: 4:52:26  iter: 19  total_loss: 1.750  loss_cls: 1.248  loss_box_reg: 0.503  time: 0.1960"
        "  data_time: 0.0033  lr: 0.000250  max_mem: 2996M\n"
        "[11/01 19:16:19 d2.utils.events]: eta: 1 day, 4:52:22  iter: 39  total_loss: 1.650  loss_cls: 1.230  loss_box_reg: 0.488  time: "
        "0.1958  data_time: 0.0031  lr: 0.000500  max_mem: 2996M\n",
        {"loss": [(19, 1.75), (39, 1.65)], "lr": [(19, 0.00025), (39, 0.0005)]},
    ),
    "DETR": (
        "Epoch: [0]  [  0/20]  eta: 0:12:43  lr: 0.000100  class_error: 98.96  loss: 68.5848 (68.5848)  loss_ce: 4.70 (4.70)  time: 1.2"
        "  data: 0.1  max mem: 100\n"
        "Epoch: [0]  [ 10/20]  eta: 0:02:08  lr: 0.000100  class_error: 99.00  loss: 55.7937 (56.1581)  loss_ce: 3.70 (4.10)  time: 1.2"
        "  data: 0.1  max mem: 100\n"
        "Averaged stats: lr: 0.000100  class_error: 99.00  loss: 55.0 (56.0)  loss_ce: 3.70 (4.10)\n"
        "Test:  [0/4]  eta: 0:00:06  class_error: 97.00  loss: 53.8736 (53.8736)  loss_ce: 3.60 (3.60)\n"
        "Test: Total time: 0:00:02 (0.7452 s / it)\n"
        "Averaged stats: class_error: 97.00  loss: 54.5 (56.3)  loss_ce: 3.55 (3.60)\n"
        "Epoch: [1]  [  0/20]  eta: 0:12:43  lr: 0.000100  class_error: 98.96  loss: 50.5848 (50.5848)  loss_ce: 3.50 (3.50)  time: 1.2"
        "  data: 0.1  max mem: 100\n",
        {"loss": [(0, 68.5848), (10, 55.7937), (20, 50.5848)], "val_loss": [(10, 54.5)]},
    ),
    "MNIST example": (
        "Train Epoch: 1 [0/6000 (0%)]\tLoss: 2.305121\nTrain Epoch: 1 [640/6000 (11%)]\tLoss: 1.829976\n\n"
        "Test set: Average loss: 0.0512, Accuracy: 9826/10000 (98%)\n\nTrain Epoch: 2 [0/6000 (0%)]\tLoss: 0.105121\n",
        {"loss": [(0, 2.305121), (640, 1.829976), (6000, 0.105121)], "val_loss": [(640, 0.0512)]},
    ),
    "ImageNet example": (
        "Epoch: [0][  1/50]\tTime 12.345 (12.345)\tData 10.123 (10.123)\tLoss 6.9812e+00 (6.9812e+00)\tAcc@1   0.00 (  0.00)\n"
        "Epoch: [1][  1/50]\tTime  2.345 ( 2.345)\tData  0.123 ( 0.123)\tLoss 6.5812e+00 (6.5812e+00)\tAcc@1   0.50 (  0.50)\n",
        {"loss": [(1, 6.9812), (51, 6.5812)]},
    ),
    "Hugging Face between bars": (
        "\r  0%|          | 0/300 [00:00<?, ?it/s]\r  3%|▎         | 10/300 [00:05<02:30,  1.93it/s]\n"
        "{'loss': 2.8533, 'grad_norm': 1.25, 'learning_rate': 4.9e-05, 'epoch': 0.09}\n"
        "\r  3%|▎         | 11/300 [00:06<02:30,  1.93it/s]\r  7%|▋         | 20/300 [00:10<02:25,  1.93it/s]"
        "{'loss': 2.6533, 'grad_norm': nan, 'learning_rate': 4.8e-05, 'epoch': 0.18}\n"
        "\r100%|██████████| 5/5 [00:01<00:00,  4.93it/s]\n{'eval_loss': 2.5, 'eval_runtime': 1.01, 'epoch': 0.18}\n",
        {
            "loss": [(10, 2.8533), (20, 2.6533)],
            "grad_norm": [(10, 1.25), (20, NAN)],
            "lr": [(10, 4.9e-5), (20, 4.8e-5)],
            "val_loss": [(20, 2.5)],
        },
    ),
    "a bar with the loss, old value first": (
        "Epoch 0:  20%|██        | 2/10 [00:08<00:32,  4.05s/it, loss=9.500, v_num=7]\n"
        "Epoch 0:  20%|██        | 2/10 [00:08<00:32,  4.05s/it, loss=9.125, v_num=7]\n"
        "Epoch 0:  30%|███       | 3/10 [00:12<00:28,  4.05s/it, loss=9.125, v_num=7]\n"
        "Epoch 0:  30%|███       | 3/10 [00:12<00:28,  4.05s/it, loss=8.750, v_num=7]\n",
        {"loss": [(2, 9.125), (3, 8.75)]},
    ),
    "Keras": (
        "Epoch 1/9\n\r 10/100 [==>...........................] - ETA: 3s - loss: 0.9145\r100/100 [==============================] - 3s 30ms/step"
        " - loss: 0.6145 - acc: 0.6295 - val_loss: 0.5265 - val_acc: 0.7470\n"
        "Epoch 2/9\n100/100 [==============================] - 3s 30ms/step - loss: nan - acc: 0.4117 - val_loss: nan - val_acc: 0.0000e+00\n",
        {"loss": [(1, 0.6145), (2, NAN)], "val_loss": [(1, 0.5265), (2, NAN)]},
    ),
    "Keras 3": (
        "Epoch 1/9\n\r 1/78 ━━━━━━━━━━━━━━━━━━━━ 5:15 404ms/step - accuracy: 0.1250 - loss: 2.3123\r78/78 ━━━━━━━━━━━━━━━━━━━━ 1s 15ms/step - "
        "accuracy: 0.3456 - loss: 1.7823 - val_accuracy: 0.4512 - val_loss: 1.5123\n"
        "Epoch 2/9\n78/78 ━━━━━━━━━━━━━━━━━━━━ 1s 15ms/step - accuracy: 0.4456 - loss: 1.4823 - val_accuracy: 0.5012 - val_loss: 1.3123\n",
        {"val_loss": [(1, 1.5123), (2, 1.3123)]},
    ),
    "Keras with a callback glued on": (
        "> Epoch 22/150\n> 517/518 [============================>.] - ETA: 0s - loss: 3.9101Epoch 00022: val_loss improved from 4.10324 to "
        "4.08165, saving model to ssd_epoch-22_loss-3.9101_val_loss-4.0817.h5\n"
        "> 518/518 [==============================] - 537s 1s/step - loss: 3.9102 - val_loss: 4.0817\n",
        {"loss": [(22, 3.9102)], "val_loss": [(22, 4.0817)]},
    ),
    "Keras without bars": (
        "Train on 600 samples, validate on 100 samples\nEpoch 1/10\n - 12s - loss: 0.3212 - acc: 0.9012 - val_loss: 0.1512 - val_acc: 0.9512\n"
        "Epoch 2/10\n - 11s - loss: 0.1212 - acc: 0.9512 - val_loss: 0.1012 - val_acc: 0.9612\n",
        {"loss": [(1, 0.3212), (2, 0.1212)], "val_loss": [(1, 0.1512), (2, 0.1012)]},
    ),
    "Keras, NaN in the middle of an epoch": (
        "Epoch 1/2\n\r 32/100 [>.............................] - ETA: 5s - loss: 2.3012 - acc: 0.0938"
        "\r 64/100 [=====>........................] - ETA: 4s - loss: nan - acc: 0.1038\r 65/100 [=====>........................] - ETA: 4s - loss: nan - acc: 0.1038\n",
        {"loss": [(1, NAN)]},
    ),
    "boxes with epochs": (
        "---------------------------------------\n|             Epoch |               0 |\n|      AverageEpRet |            22.1 |\n"
        "|            LossPi |         -0.0123 |\n---------------------------------------\n"
        "---------------------------------------\n|             Epoch |               1 |\n|      AverageEpRet |            32.1 |\n"
        "|            LossPi |         -0.0113 |\n---------------------------------------\n",
        {"AverageEpRet": [(0, 22.1), (1, 32.1)]},
    ),
    "PaddleClas": (
        "[2021/06/01 10:00:00] root INFO: [Train][Epoch 1/120][Iter: 0/1251]lr: 0.10000, CELoss: 7.12345, loss: 7.12345, top1: 0.0, reader_cost: 7.41234, ips: 31.01234 images/sec, eta: 14 days, 6:02:03\n"
        "[2021/06/01 10:00:10] root INFO: [Train][Epoch 1/120][Iter: 10/1251]lr: 0.10000, CELoss: 7.02345, loss: 7.02345, top1: 0.1, reader_cost: 0.41234, ips: 31.01234 images/sec, eta: 4 days, 6:02:03\n"
        "[2021/06/01 11:00:10] root INFO: [Eval][Epoch 1][Iter: 0/98]CELoss: 5.12345, loss: 5.12345, top1: 0.1, batch_cost: 2.1s, reader_cost: 1.1, ips: 60 images/sec\n"
        "[2021/06/01 11:02:10] root INFO: [Eval][Epoch 1][Avg]CELoss: 4.98765, loss: 4.98765, top1: 0.12345\n",
        {"loss": [(0, 7.12345), (10, 7.02345)], "val_loss": [(10, 4.98765)]},
    ),
    "TensorFlow object detection": (
        "I0503 10:00:00.123456 140000 model_lib_v2.py:705] Step 100 per-step time 0.251s\nI0503 10:00:00.123567 140000 model_lib_v2.py:708] {'batch/size': 4.5,\n"
        " 'Loss/total_loss': 0.6758,\n 'learning_rate': 0.0146}\n"
        "I0503 10:00:25.123456 140000 model_lib_v2.py:705] Step 200 per-step time 0.241s\nI0503 10:00:25.123567 140000 model_lib_v2.py:708] {'batch/size': 4.5,\n"
        " 'Loss/total_loss': 0.4758,\n 'learning_rate': 0.0246}\n",
        {"loss": [(100, 0.6758), (200, 0.4758)]},
    ),
    "boxes of Stable-Baselines3": (
        "---------------------------------\n| rollout/           |          |\n|    ep_rew_mean     | nan      |\n| time/              |          |\n"
        "|    iterations      | 2        |\n|    total_timesteps | 4096     |\n| train/             |          |\n"
        "|    learning_rate   | 0.0003   |\n|    loss            | 6.125    |\n|    n_updates       | 10       |\n"
        "---------------------------------\n"
        "---------------------------------\n| time/              |          |\n|    iterations      | 3        |\n"
        "|    total_timesteps | 6144     |\n| train/             |          |\n|    learning_rate   | 0.0003   |\n|    loss            | 5.125    |\n"
        "---------------------------------\n",
        {"loss": [(4096, 6.125), (6144, 5.125)], "lr": [(4096, 0.0003), (6144, 0.0003)]},
    ),
    "columns of spaCy": (
        "E    #       LOSS TOK2VEC  LOSS NER  ENTS_F  SCORE \n---  ------  ------------  --------  ------  ------\n"
        "  0       0          0.00     40.00    9.57    0.10\n  0     200         35.70   2163.45   83.16    0.83\n",
        {"loss": [(0, 40.0), (200, 2163.45)]},
    ),
    "columns of fastai": (
        "epoch     train_loss  valid_loss  accuracy  time    \n0         2.301231    2.212342    0.201234  00:12     \n"
        "1         1.801231    1.712342    0.401234  00:11     \n",
        {"loss": [(0, 2.301231), (1, 1.801231)], "val_loss": [(0, 2.212342), (1, 1.712342)]},
    ),
    "columns with bars": (
        " epoch | train loss | val loss\n-------+------------+---------\n     1 |     0.6931 |   0.7011\n     2 |     0.5931 |   0.6511\n",
        {"loss": [(1, 0.6931), (2, 0.5931)], "val_loss": [(1, 0.7011), (2, 0.6511)]},
    ),
    "columns of ultralytics": (
        "      Epoch    GPU_mem   box_loss   cls_loss  Instances       Size\n"
        "        1/3      2.17G      1.934      3.923         12        640:  50%|█████     | 4/8 [00:01<00:01,  3.12it/s]\n"
        "        1/3      2.17G      1.234      3.123         12        640: 100%|██████████| 8/8 [00:02<00:00,  3.12it/s]\n"
        "                 Class     Images  Instances      Box(P          R      mAP50): 100%|██████████| 1/1 [00:00<00:00,  2.1it/s]\n"
        "                   all          4         17      0.612      0.512      0.601\n\n"
        "      Epoch    GPU_mem   box_loss   cls_loss  Instances       Size\n"
        "        2/3      2.17G      1.134      2.123         14        640: 100%|██████████| 8/8 [00:02<00:00,  3.12it/s]\n",
        {"loss": [(1, 1.234), (2, 1.134)]},
    ),
    "pix2pix": (
        "================ Training Loss (Tue Apr  5 05:06:48 2022) ================\n"
        "(epoch: 1, iters: 40, time: 2.186, data: 0.775) G_GAN: 0.691 G_L1: 5.561 D_real: 0.737 D_fake: 0.656 \n"
        "(epoch: 1, iters: 80, time: 2.186, data: 0.775) G_GAN: 0.681 G_L1: 5.461 D_real: 0.727 D_fake: 0.646 \n",
        {},
    ),
    "Coqui": (
        "\x1b[4m\x1b[1m > EPOCH: 0/1000\x1b[0m\n\x1b[1m   --> STEP: 24/36 -- GLOBAL_STEP: 1000025\x1b[0m\n"
        "     | > loss_disc: 3.01874  (3.46002)\n     | > loss_1: 26.30906  (26.62162)\n     | > grad_norm_1: 41.83347  (53.85108)\n\n"
        "\x1b[1m   --> STEP: 13/36 -- GLOBAL_STEP: 1000050\x1b[0m\n"
        "     | > loss_disc: 2.91874  (3.46002)\n     | > loss_1: 25.30906  (26.62162)\n     | > grad_norm_1: 40.83347  (53.85108)\n\n",
        {"loss": [(1000025, 26.30906), (1000050, 25.30906)], "grad_norm": [(1000025, 41.83347), (1000050, 40.83347)]},
    ),
    "verl": (
        "(main_task pid=77) step:1 - global_seqlen/min:4127.000 - actor/pg_loss:-0.012 - actor/grad_norm:0.312 - actor/lr:0.000\n"
        "<think> count: 1, position: 20\n Let loss: 3\n"
        "(main_task pid=77) step:2 - global_seqlen/min:4130.000 - actor/pg_loss:0.031 - actor/grad_norm:0.298 - actor/lr:0.000\n",
        {"loss": [(1, -0.012), (2, 0.031)], "grad_norm": [(1, 0.312), (2, 0.298)]},
    ),
    "TensorFlow": (
        "INFO:tensorflow:global step 2454: loss = 0.6953 (1.61 sec/step)\nINFO:tensorflow:global step 2455: loss = nan (1.50 sec/step)\n",
        {"loss": [(2454, 0.6953), (2455, NAN)]},
    ),
    "sentences": (
        "2017-08-20 16:11:38 INFO  Optimizer$:295 - [Epoch 64 736512/1281167][Iteration 101][Wall Clock 1973.8s] Train 1792 in 4.3seconds. "
        "Throughput is 408.4 records/second. Loss is 1.2645. Current learning rate is 0.0625.\n"
        "2017-08-20 16:11:46 INFO  Optimizer$:295 - [Epoch 64 740096/1281167][Iteration 102][Wall Clock 1978.8s] Train 1792 in 4.0seconds. "
        "Throughput is 447.2 records/second. Loss is Infinity. Current learning rate is 0.0625.\n",
        {"loss": [(101, 1.2645), (102, INF)], "lr": [(101, 0.0625), (102, 0.0625)]},
    ),
    "a step without a known name": (
        "Snapshot 2000 saved, average loss: 172.7823, average time: 1.6911      \n"
        "Snapshot 4000 saved, average loss: 90.7552, average time: 1.7274      \n",
        {"loss": [(2000, 172.7823), (4000, 90.7552)]},
    ),
    "a number in brackets": (
        "[10] loss=0.5120 | lr 0.001\n[20] loss=0.4120 | lr 0.001\n[30] loss=0.3120 | lr 0.001\n",
        {"loss": [(10, 0.512), (20, 0.412), (30, 0.312)]},
    ),
    "evaluations alone": (
        "step 100: train loss 2.5010, val loss 2.6133\nstep 200: train loss 2.4010, val loss 2.5133\n",
        {"loss": [(100, 2.501), (200, 2.401)], "val_loss": [(100, 2.6133), (200, 2.5133)]},
    ),
    "epochs with several metrics": (
        "Epoch 1/20, Train Loss: 0.6931, Val Loss: 0.6801, Train Acc: 51.20%\nEpoch 2/20, Train Loss: 0.5931, Val Loss: 0.5801, Train Acc: 61.20%\n",
        {"loss": [(1, 0.6931), (2, 0.5931)], "val_loss": [(1, 0.6801), (2, 0.5801)]},
    ),
    "two counters in brackets": (
        "[0/25][0/40]\tLoss_D: 1.7410\tLoss_G: 4.8100\tD(x): 0.5300\tD(G(z)): 0.5800 / 0.0100\n"
        "[0/25][20/40]\tLoss_D: 0.7410\tLoss_G: 5.8100\tD(x): 0.6300\tD(G(z)): 0.4800 / 0.0200\n"
        "[1/25][0/40]\tLoss_D: 0.5410\tLoss_G: 6.8100\tD(x): 0.7300\tD(G(z)): 0.3800 / 0.0100\n",
        {"loss": [(0, 4.81), (20, 5.81), (40, 6.81)]},
    ),
    "timm": (
        "Train: 0 [   0/50 (  0%)]  Loss: 6.95 (6.95)  Time: 9.123s,  112.3/s  (9.123s,  112.3/s)  LR: 1.000e-06  Data: 3.123 (3.123)\n"
        "Train: 0 [  25/50 ( 50%)]  Loss: 6.90 (6.92)  Time: 0.523s, 1912.3/s  (0.823s, 1312.3/s)  LR: 1.000e-06  Data: 0.012 (0.123)\n"
        "Test: [   0/48]  Time: 2.123 (2.123)  Loss:  6.8123 (6.8123)  Acc@1:  0.1234 (0.1234)\n"
        "Train: 1 [   0/50 (  0%)]  Loss: 6.55 (6.55)  Time: 9.123s,  112.3/s  (9.123s,  112.3/s)  LR: 1.000e-04  Data: 3.123 (3.123)\n",
        {
            "loss": [(0, 6.95), (25, 6.9), (50, 6.55)],
            "val_loss": [(25, 6.8123)],
            "lr": [(0, 1e-6), (25, 1e-6), (50, 1e-4)],
        },
    ),
    "Marian": (
        "[2021-01-01 10:00:00] Ep. 1 : Up. 500 : Sen. 61,234 : Cost 7.12345678 : Time 123.45s : 12345.67 words/s : gNorm 1.2345\n"
        "[2021-01-01 10:01:00] Ep. 1 : Up. 1000 : Sen. 121,234 : Cost 6.12345678 : Time 123.45s : 12345.67 words/s : gNorm 1.1345\n",
        {"loss": [(500, 7.12345678), (1000, 6.12345678)], "grad_norm": [(500, 1.2345), (1000, 1.1345)]},
    ),
    "OLMo": (
        "2024-01-01 10:00:00.123\thost:0\tolmo.train:890\tINFO\t[step=10/1000,epoch=0]\n    optim/total_grad_norm=2.345\n    train/CrossEntropyLoss=9.876\n"
        "2024-01-01 10:00:10.123\thost:0\tolmo.train:890\tINFO\t[step=20/1000,epoch=0]\n    optim/total_grad_norm=1.345\n    train/CrossEntropyLoss=8.876\n",
        {"loss": [(10, 9.876), (20, 8.876)], "grad_norm": [(10, 2.345), (20, 1.345)]},
    ),
    "GPT-NeoX": (
        "  samples/sec: 123.4 | iteration      100/  3200 | elapsed time per iteration (ms): 1234.5 | learning rate: 6.0E-06 | approx flops per GPU: 85.1TFLOPS | lm_loss: 7.1234E+00 | loss scale: 16384.0 |\n"
        "  samples/sec: 124.4 | iteration      110/  3200 | elapsed time per iteration (ms): 1224.5 | learning rate: 6.6E-06 | approx flops per GPU: 85.1TFLOPS | lm_loss: 6.9234E+00 | loss scale: 16384.0 |\n",
        {"loss": [(100, 7.1234), (110, 6.9234)]},
    ),
    "boosting rounds": (
        "[0]\ttrain-rmse:0.52310\teval-rmse:0.53120\n[1]\ttrain-rmse:0.42310\teval-rmse:0.44120\n[2]\ttrain-rmse:0.38310\teval-rmse:0.41120\n",
        {"train-rmse": [(0, 0.5231), (1, 0.4231), (2, 0.3831)]},
    ),
    "ESPnet": (
        "[host] 2021-01-01 10:00:00,123 (trainer:672) INFO: 1epoch:train:1-100batch: iter_time=1.2e-04, loss_ctc=120.1, loss=92.25, optim0_lr0=1.0e-05\n"
        "[host] 2021-01-01 10:01:00,123 (trainer:672) INFO: 1epoch:train:101-200batch: iter_time=1.2e-04, loss_ctc=110.1, loss=82.25, optim0_lr0=2.0e-05\n",
        {"loss": [(100, 92.25), (200, 82.25)]},
    ),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_each_layout_gives_its_records(name: str) -> None:
    text, expected = LAYOUTS[name]
    for role, values in expected.items():
        assert same(series(text, role), values), read(text)


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_log_that_grows_from_nothing_plays_the_same_roles(name: str) -> None:
    text, expected = LAYOUTS[name]
    lines = text.encode().replace(b"\r\n", b"\n").replace(b"\r", b"\n").splitlines(keepends=True)
    found = records([b"", *lines])
    for role, values in expected.items():
        assert same(list({step: metrics[role] for step, metrics in found if role in metrics}.items()), values)


@pytest.mark.parametrize("name", LAYOUTS)
def test_no_layout_goes_back_in_steps(name: str) -> None:
    steps = [step for step, _ in read(LAYOUTS[name][0])]
    assert steps == sorted(steps)
    assert steps


# --- traps -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "role", "expected"),
    [
        # 1, 13: the value, not the running mean in brackets, which one overflow poisons for good.
        ("step: 1  loss: 6.59 (6.61)  grad_norm: 0.39 (nan)\nstep: 2  loss: 6.49 (6.55)  grad_norm: 0.41 (nan)\n", "grad_norm", [(1, 0.39), (2, 0.41)]),
        # 2: spellings
        ("step=1 loss=-nan\nstep=2 loss=NaN\nstep=3 loss=Infinity\nstep=4 loss=-inf\n", "loss", [(1, NAN), (2, NAN), (3, INF), (4, -INF)]),
        ("step: 1, loss: nanxxx\nstep: 2, loss: tensor(nan, device='cuda:0')\n", "loss", [(1, NAN), (2, NAN)]),
        ("step: 1, grad_norm: N/A, loss: 2.50\nstep: 2, grad_norm: N/A, loss: 2.25\n", "loss", [(1, 2.5), (2, 2.25)]),
        ("step: 1, grad_norm: N/A, loss: 2.50\nstep: 2, grad_norm: N/A, loss: 2.25\n", "grad_norm", []),
        # 3: finite stand-ins are what they are
        ("{'loss': 0.0, 'grad_norm': nan, 'epoch': 0.5}\nbar\n{'loss': 0.0, 'grad_norm': nan, 'epoch': 0.6}\n", "grad_norm", [(0, NAN), (1, NAN)]),
        # 4: only an exception tells
        ("step 10: loss 2.125\nstep 20: loss 2.250\nRuntimeError: Model diverged with loss = NaN.\n", "loss", [(10, 2.125), (20, NAN)]),
        ("FloatingPointError: Loss became infinite or NaN at iteration=2137!\n", "loss", [(2137, NAN)]),
        ("step 10: loss 2.125\nLoss is nan, stopping training\n", "loss", [(10, NAN)]),
        # 5: Megatron leaves a loss out that is not finite, and where it skipped all iterations; the loss scale is no loss
        (
            " iteration     4/  90 | learning rate: 2.999E-04 | loss scale: 2.0 | grad norm: 1.5 | number of skipped iterations:   1 | number of nan iterations:   0 |\n"
            " iteration     5/  90 | learning rate: 2.999E-04 | loss scale: 1.0 | grad norm: nan | number of skipped iterations:   0 | number of nan iterations:   0 |\n"
            " iteration     6/  90 | learning rate: 2.999E-04 | loss scale: 1.0 | grad norm: nan | number of skipped iterations:   0 | number of nan iterations:   0 |\n",
            "loss",
            [(5, NAN), (6, NAN)],
        ),
        # 7: a resumed run goes back
        ("step 10 loss 3.50\nstep 20 loss 3.25\nstep 10 loss 3.40\n", "loss", [(10, 3.4), (20, 3.25)]),
        # 7: validation in epochs beside training in iterations
        (
            "Epoch: 1 iter: 100 loss: 2.50\nEpoch: 1 iter: 200 loss: 2.25\nEpoch 1 val_loss: 2.40\nEpoch: 2 iter: 300 loss: 2.125\n",
            "val_loss",
            [(200, 2.4)],
        ),
        # 7: a counter that starts again in each epoch
        ("Epoch 1 batch 1 loss 2.50\nEpoch 1 batch 2 loss 2.25\nEpoch 2 batch 1 loss 2.125\n", "loss", [(1, 2.5), (2, 2.25), (4, 2.125)]),
        # 16: the mean of an epoch in an epoch's own line
        (
            "Epoch: 1 iter: 100 loss: 2.50\nEpoch: 1 iter: 200 loss: 2.25\nEpoch 1 loss: 2.60 val_loss: 2.40\nEpoch: 2 iter: 300 loss: 2.125\n",
            "loss",
            [(100, 2.5), (200, 2.25), (300, 2.125)],
        ),
        # 7: what a setup counts is not the run's step
        ("Step 1/3: loading\nStep 2/3: building\nStep 3/3: compiling\nEpoch 1 loss 2.50\nEpoch 2 loss 2.25\n", "loss", [(1, 2.5), (2, 2.25)]),
        # 7: what is said of the best step is no return to it
        (
            "step 400 loss 2.50 acc 0.5\nstep 500 loss 2.25 acc 0.6\nNew best loss 2.25 at step 500\nstep 600 loss 2.40 acc 0.6\n"
            "Early stopping: best loss 2.25 at step 500\n",
            "loss",
            [(400, 2.5), (500, 2.25), (600, 2.4)],
        ),
        # 7: the bar of an evaluation is not the run's
        (
            " 50%|#####     | 250/500 [00:05<00:05,  50.0it/s]{'loss': 2.5, 'epoch': 0.5}\n"
            "100%|##########| 500/500 [00:10<00:00,  50.0it/s]{'loss': 2.25, 'epoch': 1.0}\n"
            "100%|##########| 13/13 [00:01<00:00,  13.0it/s]\n{'eval_loss': 2.4, 'epoch': 1.0}\n{'train_runtime': 11.5, 'train_loss': 2.375, 'epoch': 1.0}\n",
            "val_loss",
            [(500, 2.4)],
        ),
        # 8: eight ranks print the same step
        ("step: 4 loss: 7.625\n" * 8 + "step: 5 loss: 7.125\n" * 8, "loss", [(4, 7.625), (5, 7.125)]),
        # 9: several counters: the one of the whole run
        ("STEP: 5/36 GLOBAL_STEP: 105 loss: 2.50\nSTEP: 6/36 GLOBAL_STEP: 106 loss: 2.25\n", "loss", [(105, 2.5), (106, 2.25)]),
        # 10: glued, wrapped, interleaved
        ("step    7/90 | loss 3.125 | norm 0.75| lError: Token out of vocabulary\nstep    8/90 | loss 3.00 | norm 0.50| lr 1e-3\n", "loss", [(7, 3.125), (8, 3.0)]),
        (
            " iteration   42780/ 99999 | consumed samples:    71455664 | learning\n rate: 4.475E-05 | lm loss: 2.117073E+00 | grad norm: 0.150 |\n"
            " iteration   42781/ 99999 | consumed samples:    71457712 | learning\n rate: 4.475E-05 | lm loss: 2.116946E+00 | grad norm: 0.140 |\n",
            "loss",
            [(42780, 2.117073), (42781, 2.116946)],
        ),
        # 11: carriage returns, CRLF, colours, no newline at the end
        ("step: 1 loss: 2.50\rstep: 2 loss: 2.25\r\nstep: 3 loss: \x1b[1m\x1b[32m2.125\x1b[0m\nstep: 4 loss: 2.00", "loss", [(1, 2.5), (2, 2.25), (3, 2.125), (4, 2.0)]),
        # 12: numbers as strings, markdown
        ("step: '1', loss: '2.50'\nstep: '2', loss: '2.25'\n", "loss", [(1, 2.5), (2, 2.25)]),
        ("- step **1**: loss **2.50**, `lr` 0.1\n- step **2**: loss **2.25**, `lr` 0.1\n", "loss", [(1, 2.5), (2, 2.25)]),
        ("> step: 1, loss: 2.50\n> step: 2, loss: 2.25\n", "loss", [(1, 2.5), (2, 2.25)]),
        # 16: means of an epoch under the same key
        (
            "Train | Epoch 3 | 10/20 | Loss 0.5098\nTrain | Epoch 3 | 20/20 | Loss 0.4098\nTrain Summary | Epoch 3 | Loss=0.4800\n"
            "Valid Summary | Epoch 3 | Loss=0.5552\n",
            "loss",
            [(50, 0.5098), (60, 0.4098)],
        ),
    ],
)  # fmt: skip
def test_each_trap_is_seen_through(text: str, role: str, expected: list[tuple[int, float]]) -> None:
    assert same(series(text, role), expected), read(text)


@pytest.mark.parametrize(
    "text",
    [
        "learning_rate: 0.001\nloss_weight: 1.0\nbatch_size: 32\nepochs: 100\n  loss: 1.0\nWARMUP_STEPS: 500\nSTEPS: (30000,)\n" * 3,
        "Namespace(lr=0.0001, batch_size=2, epochs=10, lr_drop=200, clip_max_norm=0.1, bbox_loss_coef=5, seed=42)\n",
        "def train(step=3, loss=0.5):\n    loss = 0.5 * step\n    loss += 0.25\n    if loss > 3.5: return\n" * 3,
        "<think> suppose loss: 3 and then loss: 4.\nloss: 3\nloss: 3\nThe loss is 3 in this case.\n",
        "2024-09-11 17:52:18,030 [INFO] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 4294967296, reducing to 2147483648\n" * 3,
        "optimizer = dict(type='AdamW', lr=0.004, weight_decay=0.05)\nlog_config = dict(interval=50)\n",
        "+ export NCCL_VERSION=2.8.3\nGPU 0   TITAN RTX (arch=7.5)\nCUDA compiler   CUDA 10.1\n" * 4,
        "Loading checkpoint shards: 100%|██████████| 2/2 [00:10<00:00,  5.06s/it]\nMap: 100%|██████| 500/500 [00:01<00:00, 400.00 examples/s]\n",
        "    raise FloatingPointError('Loss became NaN at iteration=3!')\nif not finite: print('error: loss is nan')\n",
        "WARNING: loss scale reduced, nan gradients\n",
        "",
        "no numbers at all\n\n\n",
    ],
)  # fmt: skip
def test_configurations_source_and_prose_are_no_records(text: str) -> None:
    assert read(text) == []


def test_a_log_without_a_metric_says_what_is_there() -> None:
    text = b"Step 50/900; acc:  18.42; ppl: 97.46\nStep 100/900; acc:  20.42; ppl: 87.46\n"
    log = TextLog(Pieces([text]), head=text)
    assert [len(batch) for batch in batches(log)] == [2, 0]
    assert "no loss among acc, ppl" in log.describe()


def test_the_header_names_the_trainer_and_the_roles() -> None:
    text = LAYOUTS["Megatron"][0].encode()
    log = TextLog(Pieces([text]), head=text)
    batches(log)
    assert log.describe().startswith("Megatron text log, 3 records")
    assert dict(log.roles) == {
        "loss": "lm loss", "grad_norm": "grad norm", "lr": "learning rate", "val_loss": "val lm loss value",
    }  # fmt: skip


def test_a_single_weak_line_is_believed_only_at_the_end() -> None:
    lines = Pieces([b"val loss: 2.5\n", b""])
    log = TextLog(lines)
    assert len(log.read()) == 0
    assert [dict(batch.columns) for batch in (log.finish(),)] == [{}]


def test_a_restarted_file_is_read_from_scratch() -> None:
    class Restarted(Pieces):
        def read(self, limit: int = 0) -> Chunk:
            chunk = super().read(limit)
            return Chunk(chunk.text, 1, restarted=True, more=chunk.more) if b"restart" in chunk.text else chunk

    log = TextLog(Restarted([b"step 5 loss 2.50\nstep 6 loss 2.25\n", b"restart\nstep 1 loss 3.50\n"]))
    first, second, _ = batches(log)
    assert list(first.steps) == [5, 6]
    assert list(second.steps) == [1]
    assert [mark.kind for mark in second.marks] == ["restart"]


# --- laws ------------------------------------------------------------------------------------------------------------

WHOLE = "".join(text for text, _ in LAYOUTS.values()).encode()


def test_a_summary_behind_the_last_bar_is_no_return_to_an_early_step() -> None:
    text = (
        " 50%|#####     | 250/500 [00:05<00:05,  50.0it/s]\n{'loss': 2.5, 'epoch': 0.5}\n"
        "100%|##########| 500/500 [00:10<00:00,  50.0it/s]\n{'loss': 2.25, 'epoch': 1.0}\n"
        "100%|##########| 13/13 [00:01<00:00,  13.0it/s]\n{'eval_loss': 2.4, 'epoch': 1.0}\n{'train_runtime': 11.5, 'train_loss': 2.375, 'epoch': 1.0}\n"
    )
    assert [step for step, _ in read(text)] == [250, 500, 500, 500]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_split_of_the_bytes_gives_the_same_records(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(LAYOUTS)))
    text = LAYOUTS[name][0].replace("\r\n", "\n").encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=12)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert same(records(pieces, text), records([text], text))


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=400))
def test_no_text_whatever_is_an_error(text: str) -> None:
    for _, metrics in records([text.encode("utf-8", "replace"), b"\nstep 1 loss 2.50\n"]):
        assert all(isinstance(value, float) for value in metrics.values())


def mutate(rng: random.Random, text: bytes) -> bytes:
    """`text` with a few bytes flipped, cut out, doubled or moved."""
    changed = bytearray(text)
    for _ in range(rng.randint(1, 6)):
        a, b = sorted(rng.randrange(len(changed) + 1) for _ in range(2))
        b = min(b, a + rng.randint(0, 60))
        kind = rng.randrange(4)
        if kind == 0:
            changed[a:b] = bytes(rng.randrange(256) for _ in range(b - a))
        elif kind == 1:
            del changed[a:b]
        elif kind == 2:
            changed[a:a] = changed[a:b] * rng.randint(1, 20)
        else:
            place = rng.randrange(len(changed) + 1)
            changed[place:place] = changed[a:b]
        changed = changed or bytearray(b"\n")
    return bytes(changed)


def fuzz(count: int) -> None:
    """Reads `count` mutated logs, whole and in two pieces."""
    rng = random.Random(20260101)
    texts = [text.encode() for text, _ in LAYOUTS.values()]
    for _ in range(count):
        text = mutate(rng, rng.choice(texts)).replace(b"\r\n", b"\n")
        middle = rng.randrange(len(text) + 1)
        assert same(records([text], text), records([text[:middle], text[middle:]], text))


def test_mutated_logs_are_read_without_error_and_alike_in_pieces() -> None:
    fuzz(300)


@pytest.mark.long
def test_twenty_thousand_mutated_logs() -> None:
    fuzz(20_000)


# --- bounds ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        " " * LONGEST_LINE,
        "1" * LONGEST_LINE,
        "1," * (LONGEST_LINE // 2),
        "1,234," * (LONGEST_LINE // 6),
        "a:" * (LONGEST_LINE // 2),
        "loss: 1 " * (LONGEST_LINE // 8),
        "(" * LONGEST_LINE,
        "- " * (LONGEST_LINE // 2),
        "---  " * (LONGEST_LINE // 5),
        "| a | 1 " * (LONGEST_LINE // 8),
        "50%|" * (LONGEST_LINE // 4),
        "[===>" * (LONGEST_LINE // 5),
        "\x1b[" * (LONGEST_LINE // 2),
        "loss is nan or " * (LONGEST_LINE // 15) + " error",
        "2024-01-01 10:00:" * (LONGEST_LINE // 17),
        "a b c d e f g h " * (LONGEST_LINE // 16) + "= 1",
        "x" * LONGEST_LINE + " loss: 1.25",
        "error loss " * 80 + "nan",
        "self" * (LONGEST_LINE // 4),
    ],
    ids=lambda line: repr(line[:12]),
)
def test_hostile_lines_are_read_in_time_that_grows_with_their_length(line: str) -> None:
    text = f"step 1 loss 2.50\n{line}\n{line}\n{line}\nstep 2 loss 2.25\n".encode()
    begun = time.perf_counter()
    found = [step for step, metrics in records([text]) if "loss" in metrics and step in (1, 2)]
    # Measured below 0.1 s; a pattern that goes back for every character takes minutes.
    assert time.perf_counter() - begun < 30.0
    assert found[0] == 1
    assert found[-1] == 2


def test_a_log_with_a_new_layout_on_every_line_does_not_fill_the_memory() -> None:
    rng = random.Random(4)
    words = ["".join(rng.choice("abcdefgh") for _ in range(6)) for _ in range(400)]
    log = TextLog(Pieces([b""]))
    for k in range(20_000):
        log._reader.line(f"{rng.choice(words)} {rng.choice(words)} {k}: {rng.choice(words)}={k}.5")
    assert len(log._reader._layouts.plans) <= 1024


def test_a_box_and_a_block_without_end_do_not_fill_the_memory() -> None:
    log = TextLog(Pieces([b""]))
    for k in range(5000):
        log._reader.line(f"| name{'abcdefghij'[k % 10]}{chr(97 + k % 26)} | {k} |")
    assert len(log._reader._block_places) <= 513
    rng = random.Random(9)
    for _ in range(5000):
        log._reader.line(f"{''.join(rng.choice('abcdefgh') for _ in range(9))} loss: 1.2345")
    assert len(log._reader._block) <= 513


def test_a_real_file_is_followed_line_by_line(tmp_path: object) -> None:
    import pathlib

    path = pathlib.Path(str(tmp_path)) / "train.log"
    path.write_bytes(b"step 1 loss 2.50\nstep 2 lo")
    log = TextLog(Tail(path), head=path.read_bytes())
    assert list(log.read().steps) == [1]
    with path.open("ab") as file:
        file.write(b"ss 2.25\nstep 3 loss 2.00\n")
    batch = log.read()
    assert list(batch.steps) == [2, 3]
    assert list(batch.columns["loss"]) == [2.25, 2.0]
    log.close()

"""gradient_noise.py against the numbers that gradients were drawn with; needs no PyTorch."""
import os
import random
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "tools"))

from perfmodel_tools.gradient_noise import GradientNoise  # noqa: E402


class Vector(list):
    def __sub__(self, other):
        return Vector(a - b for a, b in zip(self, other))

    def __mul__(self, other):
        return Vector(a * b for a, b in zip(self, other))

    def sum(self):
        return sum(list(self))

    def clone(self):
        return Vector(self)


class Parameter:
    requires_grad = True
    grad = None


class GradientNoiseTest(unittest.TestCase):
    def run_steps(self, steps, parts, smoothing):
        random.seed(1)
        p = Parameter()
        noise = GradientNoise([p], micro_batch=8, smoothing=smoothing)
        seen = []
        for _ in range(steps):
            p.grad = None
            for _ in range(parts):
                g = Vector(t + random.gauss(0, 3) / 8 ** 0.5 for t in (1.0, -2.0))
                p.grad = g if p.grad is None else Vector(a + b for a, b in zip(p.grad, g))
                noise.part()
            noise.end_of_step()
            seen.append((noise.grad_sqr, noise.grad_var))
        return seen

    def test_unbiased(self):
        seen = self.run_steps(5000, 4, 0.0)
        self.assertAlmostEqual(sum(s for s, _ in seen) / len(seen), 5, delta=0.2)
        self.assertAlmostEqual(sum(v for _, v in seen) / len(seen), 18, delta=0.5)

    def test_smoothed(self):
        sqr, var = self.run_steps(2000, 2, 0.99)[-1]
        self.assertAlmostEqual(sqr, 5, delta=2)
        self.assertAlmostEqual(var, 18, delta=6)

    def test_one_part_says_nothing(self):
        self.assertEqual(self.run_steps(3, 1, 0.5), [(None, None)] * 3)
        with self.assertRaisesRegex(ValueError, "no step had two"):
            GradientNoise([], micro_batch=8).insert(None, 1, dataset="", batch=8)


if __name__ == "__main__":
    unittest.main()

"""Tests of the zoo and of model names. Run: python3 -m unittest discover -s test/tools"""

import gzip
import json
import os
import re
import sys
import tempfile
import types
import unittest
import unittest.mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools"))

try:
    import torch
except ImportError as err:
    raise unittest.SkipTest(f"PyTorch is not installed: {err}")

from perfmodel_tools import export, measure, models, zoo
from perfmodel_tools.device import CpuDevice


def catalogue():
    """Names of all operators that the extension knows."""
    with open(os.path.join(HERE, "..", "..", "src", "core", "graph", "op_catalogue.c")) as file:
        return set(re.findall(r'^\t\{"([^"]+)"', file.read(), re.M))


class Zoo(unittest.TestCase):
    def test_every_network_exports_and_all_its_operators_are_known(self):
        known = catalogue()
        self.assertGreater(len(known), 200)
        for name in zoo.NETWORKS:
            with self.subTest(name):
                graph = export.export_graph(models.resolve(name))
                self.assertLessEqual({node["op"] for node in graph["nodes"]}, known)
                self.assertEqual(graph["model"], name)
                self.assertGreater(graph["params"], 0)
                self.assertEqual(graph["nodes"][graph["output"]]["batch_dim"], 0)

    def test_a_drawn_network_is_what_was_measured(self):
        known, kinds = catalogue(), set()
        with gzip.open(os.path.join(HERE, "..", "..", "data", "drawn_graphs.ndjson.gz"), "rt") as file:
            stored = {graph["model"]: graph for graph in map(json.loads, file)}
        self.assertEqual(set(stored), set(zoo.DRAWN))
        for name, before in stored.items():
            if name.partition("_")[0] in kinds:     # one of each kind
                continue
            with self.subTest(name):
                kinds.add(name.partition("_")[0])
                graph = export.export_graph(models.resolve(*models.of_graph(before["name"])))
                self.assertEqual((graph["name"], graph["params"], graph["input"]), (before["name"], before["params"], before["input"]))
                self.assertLessEqual({node["op"] for node in graph["nodes"]}, known)
        self.assertEqual(len(kinds), 10)

    def test_a_published_network_is_what_was_published(self):
        known = catalogue()
        with gzip.open(os.path.join(HERE, "..", "..", "data", "published_graphs.ndjson.gz"), "rt") as file:
            stored = {graph["model"]: graph for graph in map(json.loads, file)}
        self.assertEqual(set(stored), set(zoo.PUBLISHED))
        for name, parameters in (("opt_350m", 331196416), ("gpt_neo_2_7b", 2651307520), ("resnet18_cifar", 11173962), ("shufflenetv2_cifar", 1356104)):
            with self.subTest(name):
                self.assertEqual(stored[name]["params"], parameters)
                self.assertLessEqual({node["op"] for node in stored[name]["nodes"]}, known)
        try:
            graph = export.export_graph(models.resolve("zoo:resnet18_cifar"))
        except export.ExportError as err:
            if isinstance(err.__cause__, ImportError):
                self.skipTest("torchvision is not installed")
            raise
        self.assertEqual(graph["nodes"], stored["resnet18_cifar"]["nodes"])

    def test_names_do_not_clash_with_others(self):
        sources = (zoo.NETWORKS, zoo.DRAWN, zoo.PUBLISHED)
        self.assertEqual(len(set().union(*sources)), sum(map(len, sources)))
        for name in set().union(*sources):
            self.assertRegex(name, r"^[a-z0-9_]+$")
        try:
            self.assertFalse(set().union(*sources) & set(models.torchvision_names()))
        except models.ModelError:
            pass                                # no torchvision here

    def test_sizes_of_some_papers(self):
        for name, millions in (("bert_base", 109.1), ("gpt_small", 162.3), ("lenet", 0.0444), ("mobilenetv1_100", 4.23),
                               ("deit_tiny", 5.69), ("seresnet50", 28.1)):
            graph = export.export_graph(models.resolve(name))
            self.assertAlmostEqual(graph["params"] / 1e6, millions, delta=0.01 * millions)

    def test_training_steps_run(self):
        for name, size in (("bert_tiny", 8), ("t5_tiny", 8), ("lenet", 28), ("dlrm_small", None), ("lstmtagger", 4),
                           ("dcgan_g_small", 32), ("convlstm", 8)):
            with self.subTest(name):
                spec = models.resolve(name, size)
                trainer = measure.Trainer(spec.build(), CpuDevice(1), "fp32", "nchw")
                limits = measure.Limits(warmup=1, warmup_s=0, steps=2, min_steps=2)
                self.assertGreater(measure.measure(trainer, spec.make_input(2), limits).step_ms, 0)


class Names(unittest.TestCase):
    def test_sizes_go_where_they_mean_something(self):
        self.assertEqual(models.sizes("bert_tiny", [64], [16, 32]), [16, 32])
        self.assertEqual(models.sizes("zoo:lenet", [28], [16, 32]), [28])
        self.assertEqual(models.sizes("lenet", None, [16]), [None])
        self.assertEqual(models.sizes("dlrm_small", [64], [16]), [None])

    def test_graph_names_lead_back_to_models(self):
        for name, size in (("bert_tiny", 16), ("lenet", 32), ("dlrm_small", None)):
            self.assertEqual(models.of_graph(models.resolve(name, size).graph), (name, size))

    def own(self, text):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, "my_model.py")
        with open(path, "w") as file:
            file.write(text)
        return path

    def test_own_function_with_a_size(self):
        path = self.own("import torch\ndef build(seq=8):\n"
                        "    return torch.nn.Linear(4, 2), torch.zeros(1, seq, 4)\ndef wrong():\n    return 3\n")
        self.assertEqual(models.sizes(path + ":build", [64], [5]), [5])
        spec = models.resolve(path + ":build", 5)
        self.assertEqual((spec.graph, tuple(spec.make_input(3).shape)), ("my_model@s5", (3, 5, 4)))
        self.assertEqual(models.resolve(path + ":build").graph, "my_model")
        with self.assertRaisesRegex(models.ModelError, "should return"):
            models.resolve(path + ":wrong").build()

    def test_errors_say_what_to_do(self):
        for name, reason in (("zoo:bert_tinny", "bert_tiny"), ("my.py", "names a file but no function"),
                             (self.own("1 / 0\n") + ":build", "ZeroDivisionError")):
            with self.assertRaisesRegex(models.ModelError, reason):
                models.resolve(name)


class Config:
    """Stands in for a configuration of transformers."""

    is_encoder_decoder = False

    def __init__(self, **values):
        vars(self).update(values)


class ImageConfig(Config):
    """That of a model of images."""


class SoundConfig(Config):
    """That of a model of sound."""


class Encoder(torch.nn.Module):
    """Stands in for a model of transformers, which returns a dictionary."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.word, self.patch = torch.nn.Embedding(50, 8), torch.nn.Conv2d(3, 8, 4, 4)

    def forward(self, input_ids=None, decoder_input_ids=None, pixel_values=None):
        if pixel_values is not None:
            return {"last_hidden_state": self.patch(pixel_values)}
        assert (decoder_input_ids is not None) == self.config.is_encoder_decoder
        return {"last_hidden_state": self.word(input_ids) * 2.0}


class OtherPackages(unittest.TestCase):
    """transformers: and timm: names, with stand-ins for packages that need not be installed."""

    def install(self, name, **values):
        module = types.ModuleType(name)
        module.__version__ = "9.9"
        vars(module).update(values)
        # this name alone: what PyTorch imports meanwhile cannot be imported twice
        real = sys.modules.get(name)
        sys.modules[name] = module
        self.addCleanup(lambda: sys.modules.pop(name) if real is None else sys.modules.update({name: real}))

    def test_transformers(self):
        configs = {"bert": Config(vocab_size=50), "t5": Config(vocab_size=50, is_encoder_decoder=True),
                   "vit": ImageConfig(image_size=16, num_channels=3), "beit": ImageConfig(image_size=16, num_channels=3, vocab_size=8192),
                   "yolos": ImageConfig(image_size=(16, 32), num_channels=3), "resnet": ImageConfig(num_channels=3), "hubert": SoundConfig()}
        inputs = {Config: "input_ids", ImageConfig: "pixel_values", SoundConfig: "input_values"}
        mapping = {config: types.SimpleNamespace(main_input_name=name) for config, name in inputs.items()}
        auto = types.SimpleNamespace(for_model=lambda kind: configs[kind])
        self.install("transformers", AutoConfig=auto, AutoModel=types.SimpleNamespace(from_config=Encoder), MODEL_MAPPING=mapping)
        for name, sizes, graph, shape in (("bert", [32], "bert@s32", [1, 32]), ("t5", [32], "t5@s32", [1, 32]),
                                          ("vit", [64], "vit@64", [1, 3, 64, 64]), ("beit", [64], "beit@64", [1, 3, 64, 64]),
                                          ("yolos", [64], "yolos@64", [1, 3, 64, 64]), ("resnet", [64], "resnet@64", [1, 3, 64, 64])):
            self.assertEqual(models.sizes("transformers:" + name, [64], [32]), sizes)
            exported = export.export_graph(models.resolve("transformers:" + name, sizes[0]))
            self.assertEqual((exported["name"], exported["input"]), (graph, shape))
            self.assertEqual(exported["source"], "transformers 9.9")
        self.assertEqual(models.resolve("transformers:resnet").graph, "resnet@224")
        configs["yolos"] = ImageConfig(image_size=(16, 32), num_channels=3)
        self.assertEqual(models.resolve("transformers:yolos").make_input(2)["pixel_values"].shape, (2, 3, 16, 32))
        self.assertEqual(models.resolve("transformers:yolos").graph, "yolos@16x32")
        with self.assertRaisesRegex(models.ModelError, "takes input_values, neither"):
            models.resolve("transformers:hubert")
        configs["odd"] = types.SimpleNamespace()
        with self.assertRaisesRegex(models.ModelError, "no base model of the type 'odd'"):
            models.resolve("transformers:odd")
        with self.assertRaisesRegex(models.ModelError, "no model type 'nope'"):
            models.resolve("transformers:nope")

    def test_timm(self):
        def create_model(name, pretrained=False):
            assert not pretrained
            return torch.nn.Conv2d(3, 4, 1)
        models_ = types.SimpleNamespace(get_pretrained_cfg=lambda name: types.SimpleNamespace(input_size=(3, 20, 20)))
        self.install("timm", list_models=lambda: ["net"], create_model=create_model, models=models_)
        self.assertEqual(models.resolve("timm:net").graph, "net@20")
        self.assertEqual(export.export_graph(models.resolve("timm:net", 32))["input"], [1, 3, 32, 32])
        with self.assertRaisesRegex(models.ModelError, "no model 'other'"):
            models.resolve("timm:other")

    def test_a_package_that_is_missing_is_named(self):
        with unittest.mock.patch.dict(sys.modules, {"timm": None}):
            with self.assertRaisesRegex(models.ModelError, "needs the Python package 'timm'"):
                models.resolve("timm:resnet50d")


if __name__ == "__main__":
    unittest.main()

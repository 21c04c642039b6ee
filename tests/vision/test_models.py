"""Models: published numbers of parameters, torchvision's names, shapes, training, arguments."""

from __future__ import annotations

from typing import Any

import pytest

import weft
from weft import nn
from weft.vision import models
from weft.vision.models.resnet import BasicBlock, Bottleneck
from weft.vision.models.vision_transformer import ConvStemConfig

COUNTS = {
    "alexnet": 61_100_840,
    "densenet121": 7_978_856, "densenet161": 28_681_000, "densenet169": 14_149_480,
    "densenet201": 20_013_928,
    "googlenet": 13_004_888, "inception_v3": 27_161_264,
    "lenet": 61_706,
    "mobilenet_v2": 3_504_872,
    "resnet18": 11_689_512, "resnet34": 21_797_672, "resnet50": 25_557_032,
    "resnet101": 44_549_160, "resnet152": 60_192_808,
    "resnext50_32x4d": 25_028_904, "resnext101_32x8d": 88_791_336, "resnext101_64x4d": 83_455_272,
    "wide_resnet50_2": 68_883_240, "wide_resnet101_2": 126_886_696,
    "squeezenet1_0": 1_248_424, "squeezenet1_1": 1_235_496,
    "vgg11": 132_863_336, "vgg11_bn": 132_868_840, "vgg13": 133_047_848, "vgg13_bn": 133_053_736,
    "vgg16": 138_357_544, "vgg16_bn": 138_365_992, "vgg19": 143_667_240, "vgg19_bn": 143_678_248,
    "vit_b_16": 86_567_656, "vit_b_32": 88_224_232, "vit_l_16": 304_326_632,
    "vit_l_32": 306_535_400, "vit_h_14": 632_045_800,
}  # fmt: skip


def _small_vgg() -> nn.Module:
    """With one convolution, and one linear layer in place of three large ones."""
    features = nn.Sequential(nn.Conv2d(3, 512, 3, padding=1), nn.ReLU(True), nn.MaxPool2d(2))
    with nn.utils.no_init():
        net = models.VGG(features, 4)
    net.classifier = nn.Linear(512 * 49, 4)
    for p in features.parameters():
        nn.init.normal_(p, std=0.1)
    return net


# Of each family a member that is quick: how it is made, and the size of its images.
SMALL: dict[str, tuple[Any, tuple[int, ...]]] = {
    "lenet": (lambda: models.lenet(num_classes=4), (1, 28, 28)),
    "mobilenet_v2": (
        lambda: models.MobileNetV2(4, 0.5, [[1, 16, 1, 1], [6, 24, 2, 2]], dropout=0.0),
        (3, 32, 32),
    ),
    "basic": (
        lambda: models.ResNet(BasicBlock, [1, 1, 1, 1], 4, zero_init_residual=True),
        (3, 32, 32),
    ),
    "bottleneck": (
        lambda: models.ResNet(Bottleneck, [1, 1, 1, 1], 4, groups=4, width_per_group=8),
        (3, 32, 32),
    ),
    "densenet": (lambda: models.DenseNet(8, (2, 2), 8, num_classes=4), (3, 32, 32)),
    "squeezenet": (lambda: models.squeezenet1_1(num_classes=4, dropout=0.0), (3, 32, 32)),
    "vit": (lambda: models.VisionTransformer(16, 8, 2, 2, 16, 32, num_classes=4), (3, 16, 16)),
    "vgg": (_small_vgg, (3, 16, 16)),
    "googlenet": (
        lambda: models.googlenet(num_classes=4, aux_logits=False, dropout=0.0, init_weights=False),
        (3, 32, 32),
    ),
}


def count(net: nn.Module) -> int:
    """How many numbers a network learns."""
    return sum(p.numel() for p in net.parameters())


def test_every_model_is_counted() -> None:
    """The table above has every model but those of no published size."""
    assert set(models.list_models()) - set(COUNTS) == {"unet", "yolo"}


@pytest.mark.parametrize("name", COUNTS)
def test_published_counts(name: str) -> None:
    """As many parameters as published."""
    with nn.utils.no_init():
        assert count(models.get_model(name)) == COUNTS[name]


def test_classifiers_on_the_way_can_be_left_out() -> None:
    """The published sizes without them."""
    with nn.utils.no_init():
        assert count(models.googlenet(aux_logits=False)) == 6_624_904
        assert count(models.inception_v3(aux_logits=False)) == 23_834_568


@pytest.mark.parametrize("name", SMALL)
def test_small_models_learn(name: str) -> None:
    """Right shapes; eval gives the same twice; steps of gradient descent lower the loss.

    Batches of four make some losses very steep: steps are so short that each should lower the loss by 0.01.
    """
    make, size = SMALL[name]
    net, x, y = make(), weft.randn(4, *size), weft.tensor([0, 1, 2, 3])
    optimizer = weft.optim.SGD(net.parameters(), lr=1.0)

    def loss() -> weft.Tensor:
        weft.manual_seed(7)  # the same dropout each time
        return nn.CrossEntropyLoss()(net(x), y)

    before = loss().item()
    for _ in range(3):
        optimizer.zero_grad()
        loss().backward()
        slope = sum(p.grad.square().sum().item() for p in net.parameters())
        optimizer.param_groups[0]["lr"] = 0.01 / slope
        optimizer.step()
    assert before - 0.06 < loss().item() < before - 0.01
    net.eval()
    with weft.no_grad():
        first, second = net(x), net(x)
    assert first.shape == (4, 4)
    assert weft.equal(first, second) and bool(first.isfinite().all())


@pytest.mark.parametrize("name", ["alexnet", "resnet50", "densenet121", "inception_v3"])
def test_large_models_give_classes(name: str) -> None:
    """One image in, one score per class out."""
    net = models.get_model(name, num_classes=3).eval()
    side = 75 if name == "inception_v3" else 64
    with weft.no_grad():
        y = net(weft.randn(1, 3, side, side))
    assert y.shape == (1, 3) and bool(y.isfinite().all())


def test_auxiliary_outputs() -> None:
    """In training these two also give what classifiers on the way say; in eval they do not."""
    net = models.googlenet(num_classes=3, init_weights=False)
    out = net(weft.randn(2, 3, 64, 64))
    assert out._fields == ("logits", "aux_logits2", "aux_logits1")
    assert [tuple(o.shape) for o in out] == [(2, 3)] * 3
    (out.logits.sum() + out.aux_logits1.sum() + out.aux_logits2.sum()).backward()
    assert net.aux1.fc2.weight.grad is not None and net.aux2.conv.conv.weight.grad is not None
    assert net.eval()(weft.randn(1, 3, 32, 32)).shape == (1, 3)
    net = models.inception_v3(num_classes=3, init_weights=False)
    with weft.no_grad():
        out = net(weft.randn(2, 3, 299, 299))
    assert out._fields == ("logits", "aux_logits") and out.aux_logits.shape == (2, 3)


def test_transform_input() -> None:
    """Images normalised by ImageNet's statistics are brought to -1 … 1."""
    net = models.googlenet(num_classes=2, aux_logits=False, init_weights=False).eval()
    image = weft.rand(1, 3, 32, 32)
    mean = weft.tensor([0.485, 0.456, 0.406]).reshape(3, 1, 1)
    std = weft.tensor([0.229, 0.224, 0.225]).reshape(3, 1, 1)
    plain = net((image - 0.5) / 0.5)
    net.transform_input = True
    assert weft.allclose(net((image - mean) / std), plain, atol=1e-5)


# ---- names --------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", [models, weft.vision.ops])
def test_public_names_have_examples(part: Any) -> None:
    """Every function and class that models and ops offer shows how it is used."""
    offered = {
        name: x
        for name, x in vars(part).items()
        if callable(x) and not name.startswith("_") and not name.endswith("Outputs")
    }
    assert len(offered) > 25
    assert not [name for name, x in offered.items() if ">>>" not in (x.__doc__ or "")]


def keys(name: str, **kwargs: Any) -> dict[str, tuple[int, ...]]:
    """The names and shapes of a model's state."""
    with nn.utils.no_init():
        return {k: tuple(v.shape) for k, v in models.get_model(name, **kwargs).state_dict().items()}


def test_keys_of_resnet18() -> None:
    """Every key of torchvision's resnet18, in its order."""
    norm = ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")
    wanted = ["conv1.weight", *(f"bn1.{n}" for n in norm)]
    for layer in (1, 2, 3, 4):
        for block in (0, 1):
            at = f"layer{layer}.{block}"
            for i in (1, 2):
                wanted += [f"{at}.conv{i}.weight", *(f"{at}.bn{i}.{n}" for n in norm)]
            if layer > 1 and block == 0:
                wanted += [f"{at}.downsample.0.weight", *(f"{at}.downsample.1.{n}" for n in norm)]
    shapes = keys("resnet18")
    assert list(shapes) == [*wanted, "fc.weight", "fc.bias"]
    assert shapes["layer2.0.downsample.0.weight"] == (128, 64, 1, 1)


SOME_KEYS = {
    "alexnet": {"features.10.weight": (256, 256, 3, 3), "classifier.6.bias": (1000,)},
    "vgg16": {"features.28.weight": (512, 512, 3, 3), "classifier.0.weight": (4096, 25088)},
    "vgg16_bn": {"features.41.running_mean": (512,), "features.40.bias": (512,)},
    "resnet50": {"layer1.0.conv3.weight": (256, 64, 1, 1), "layer4.2.bn3.bias": (2048,)},
    "resnext50_32x4d": {"layer1.0.conv2.weight": (128, 4, 3, 3)},
    "wide_resnet50_2": {"layer1.0.conv2.weight": (128, 128, 3, 3)},
    "mobilenet_v2": {
        "features.0.0.weight": (32, 3, 3, 3),
        "features.1.conv.0.0.weight": (32, 1, 3, 3),
        "features.1.conv.1.weight": (16, 32, 1, 1),
        "features.2.conv.3.running_var": (24,),
        "features.18.0.weight": (1280, 320, 1, 1),
        "classifier.1.weight": (1000, 1280),
    },
    "densenet121": {
        "features.conv0.weight": (64, 3, 7, 7),
        "features.denseblock1.denselayer2.norm1.weight": (96,),
        "features.denseblock4.denselayer16.conv2.weight": (32, 128, 3, 3),
        "features.transition1.conv.weight": (128, 256, 1, 1),
        "features.norm5.bias": (1024,),
        "classifier.weight": (1000, 1024),
    },
    "squeezenet1_0": {
        "features.3.squeeze.weight": (16, 96, 1, 1),
        "features.12.expand3x3.weight": (256, 64, 3, 3),
        "classifier.1.weight": (1000, 512, 1, 1),
    },
    "squeezenet1_1": {"features.12.expand1x1.bias": (256,)},
    "googlenet": {
        "conv1.conv.weight": (64, 3, 7, 7),
        "inception3a.branch3.1.conv.weight": (32, 16, 3, 3),
        "inception5b.branch4.1.bn.weight": (128,),
        "aux1.fc1.weight": (1024, 2048),
    },
    "inception_v3": {
        "Conv2d_1a_3x3.conv.weight": (32, 3, 3, 3),
        "Mixed_5b.branch5x5_2.conv.weight": (64, 48, 5, 5),
        "Mixed_6b.branch7x7dbl_5.conv.weight": (192, 128, 1, 7),
        "Mixed_7a.branch7x7x3_3.conv.weight": (192, 192, 7, 1),
        "Mixed_7c.branch3x3dbl_3b.conv.weight": (384, 384, 3, 1),
        "AuxLogits.conv1.bn.weight": (768,),
        "fc.weight": (1000, 2048),
    },
    "vit_b_16": {
        "class_token": (1, 1, 768),
        "conv_proj.weight": (768, 3, 16, 16),
        "encoder.pos_embedding": (1, 197, 768),
        "encoder.layers.encoder_layer_11.self_attention.in_proj_weight": (2304, 768),
        "encoder.layers.encoder_layer_0.self_attention.out_proj.bias": (768,),
        "encoder.layers.encoder_layer_0.mlp.0.weight": (3072, 768),
        "encoder.layers.encoder_layer_0.mlp.3.weight": (768, 3072),
        "encoder.layers.encoder_layer_0.ln_1.weight": (768,),
        "encoder.ln.bias": (768,),
        "heads.head.weight": (1000, 768),
    },
}


@pytest.mark.parametrize("name", SOME_KEYS)
def test_keys_of_others(name: str) -> None:
    """Keys and shapes as in torchvision's files of weights."""
    shapes = keys(name)
    assert {k: shapes.get(k) for k in SOME_KEYS[name]} == SOME_KEYS[name]


def test_state_goes_from_one_to_another(tmp_path: Any) -> None:
    """The way that the error about weights names works."""
    a, b = models.squeezenet1_1(num_classes=2).eval(), models.squeezenet1_1(num_classes=2).eval()
    path = tmp_path / "squeezenet1_1.pth"
    weft.save(a.state_dict(), path)
    b.load_state_dict(weft.load(path))
    x = weft.randn(1, 3, 32, 32)
    assert weft.equal(a(x), b(x))


# ---- arguments ----------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", [{"weights": "DEFAULT"}, {"pretrained": True}])
def test_weights_are_not_hosted(asked: dict[str, Any]) -> None:
    """The error says so, and how to load a file."""
    with pytest.raises(
        NotImplementedError, match=r"(?s)resnet18: .*no trained weights.*weft\.load"
    ):
        models.resnet18(**asked)
    with pytest.raises(NotImplementedError, match="pretrained=True"):
        models.get_model_builder("vgg11")(True)


def test_arguments_without_weights() -> None:
    """The arguments of both generations of torchvision are taken."""
    with nn.utils.no_init():
        for arguments in ({"weights": None}, {"pretrained": False}, {"progress": False}):
            assert models.resnet18(num_classes=2, **arguments).fc.out_features == 2
    with pytest.raises(TypeError, match="colour"):
        models.lenet(colour=True)


def test_names() -> None:
    """Models by name, with a hint for a slip."""
    assert isinstance(models.get_model("LeNet", num_classes=2), models.LeNet)
    with pytest.raises(ValueError, match="resnet18"):
        models.get_model("resnet_18")
    from weft.vision.models import vgg

    assert len(models.list_models(vgg)) == 8
    assert models.list_models(include=["vgg*"], exclude="*_bn") == [
        "vgg11", "vgg13", "vgg16", "vgg19",
    ]  # fmt: skip


def test_resnet_arguments() -> None:
    """norm_layer, zero_init_residual and dilation are honoured."""

    def norm(channels: int) -> nn.Module:
        return nn.GroupNorm(2, channels)

    net = models.ResNet(BasicBlock, [1, 1, 1, 1], 2, zero_init_residual=True, norm_layer=norm)
    assert not any(isinstance(m, nn.BatchNorm2d) for m in net.modules())
    assert all(float(m.bn2.weight.abs().sum()) == 0 for m in net.modules() if hasattr(m, "bn2"))
    dilated = models.ResNet(
        Bottleneck, [1, 1, 1, 2], 2, replace_stride_with_dilation=[False, True, True]
    )
    assert dilated.layer4[1].conv2.dilation == (4, 4) and dilated.layer4[0].conv2.stride == (1, 1)
    x = dilated.layer4(dilated.layer3(weft.ones(1, 512, 4, 4)))
    assert x.shape == (1, 2048, 4, 4)
    with pytest.raises(ValueError, match="3-element"):
        models.ResNet(BasicBlock, [1, 1, 1, 1], replace_stride_with_dilation=[True])
    with pytest.raises(NotImplementedError, match="dilation"):
        models.ResNet(BasicBlock, [1, 1, 1, 2], replace_stride_with_dilation=[True, True, True])
    with pytest.raises(ValueError, match="groups=2"):
        models.resnet18(groups=2)


def test_vit_arguments() -> None:
    """A stem of convolutions, a layer before the last, sizes that fit."""
    stem = [ConvStemConfig(4, 3, 2), ConvStemConfig(8, 3, 2)]
    net = models.VisionTransformer(
        16, 4, 1, 2, 8, 16, num_classes=3, representation_size=5, conv_stem_configs=stem
    )
    assert net(weft.randn(2, 3, 16, 16)).shape == (2, 3)
    names = list(net.state_dict())
    assert "conv_proj.conv_bn_relu_1.1.weight" in names and "heads.pre_logits.weight" in names
    with pytest.raises(ValueError, match="16, 16"):
        net(weft.randn(2, 3, 32, 32))
    with pytest.raises(ValueError, match="divisible"):
        models.VisionTransformer(15, 4, 1, 2, 8, 16)


def test_other_arguments() -> None:
    """What is refused is refused by name."""
    with pytest.raises(NotImplementedError, match="memory_efficient"):
        models.densenet121(memory_efficient=True)
    with pytest.raises(ValueError, match="1_0 or 1_1"):
        models.SqueezeNet("2_0")
    with pytest.raises(ValueError, match="4-element"):
        models.mobilenet_v2(inverted_residual_setting=[])
    with pytest.raises(ValueError, match="stride"):
        models.mobilenet_v2(inverted_residual_setting=[[1, 16, 1, 3]])
    net = models.mobilenet_v2(num_classes=2, inverted_residual_setting=[[2, 8, 1, 1]])
    assert net.features[1].out_channels == 8 and len(net.features) == 3
    assert models.DenseNet(4, (1,), 4, drop_rate=0.5).features.denseblock1.denselayer1.drop_rate

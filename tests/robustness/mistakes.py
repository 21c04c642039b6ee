"""Classic mistakes as data: a program, what weft's message must contain, and PyTorch's message.

``test_fifty_mistakes.py`` runs them, and writes ``docs/errors.md``. PyTorch's messages are those of version 2.13.
"""

from __future__ import annotations

from typing import NamedTuple


class Mistake(NamedTuple):
    """A program of a few lines that goes wrong.

    Attributes:
        group: the heading below which it stands.
        title: what is wrong.
        code: the program, which is called ``train.py``.
        needs: what the message must contain: op or layer, rule, values.
        torch: kind and text of PyTorch's exception or warning.
        line: the line of the program that the message must name; 0: the last.
    """

    group: str
    title: str
    code: str
    needs: tuple[str, ...]
    torch: str
    line: int = 0


# fmt: off
MISTAKES = (
    Mistake(
        "Shapes of layers", "Linear: other features than in_features",
        "nn.Linear(3, 4)(torch.ones(2, 5))",
        ("linear", "[2, 5]", "[4, 3]", "cannot be multiplied"),
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x5 and 3x4)",
    ),
    Mistake(
        "Shapes of layers", "A Flatten gives more features than the Linear behind it takes",
        "nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(10, 2))(torch.ones(1, "
        "1, 8, 8))",
        ("Sequential.2", "[1, 72]", "[2, 10]"),
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied (1x72 and 10x2)",
    ),
    Mistake(
        "Shapes of layers", "Conv2d: other channels",
        "nn.Conv2d(3, 8, 3)(torch.ones(2, 4, 8, 8))",
        ("conv2d", "groups=1", "[2, 4, 8, 8]", "3 channels", "4 channels"),
        "RuntimeError: Given groups=1, weight of size [8, 3, 3, 3], expected input[2, 4, "
        "8, 8] to have 3 channels, but got 4 channels instead",
    ),
    Mistake(
        "Shapes of layers", "Conv2d: an image with its channels last",
        "nn.Conv2d(3, 8, 3)(torch.ones(2, 8, 8, 3))",
        ("conv2d", "[2, 8, 8, 3]", "3 channels", "8 channels"),
        "RuntimeError: Given groups=1, weight of size [8, 3, 3, 3], expected input[2, 8, "
        "8, 3] to have 3 channels, but got 8 channels instead",
    ),
    Mistake(
        "Shapes of layers", "Conv2d: an image without a channel",
        "nn.Conv2d(3, 8, 3)(torch.ones(8, 8))",
        ("conv2d", "3D (unbatched) or 4D (batched)", "[8, 8]"),
        "RuntimeError: Expected 3D (unbatched) or 4D (batched) input to conv2d, but got "
        "input of size: [8, 8]",
    ),
    Mistake(
        "Shapes of layers", "Conv2d: a kernel that is larger than the image",
        "nn.Conv2d(3, 8, 5)(torch.ones(2, 3, 3, 3))",
        ("conv2d", "Kernel size: 5", "size per channel: 3"),
        "RuntimeError: Calculated padded input size per channel: (3 x 3). Kernel size: (5 "
        "x 5). Kernel size can't be greater than actual input size",
    ),
    Mistake(
        "Shapes of layers", "Conv1d: an image in the place of a sequence",
        "nn.Conv1d(3, 8, 3)(torch.ones(2, 3, 8, 8))",
        ("conv1d", "2D (unbatched) or 3D (batched)", "[2, 3, 8, 8]"),
        "RuntimeError: Expected 2D (unbatched) or 3D (batched) input to conv1d, but got "
        "input of size: [2, 3, 8, 8]",
    ),
    Mistake(
        "Shapes of layers", "ConvTranspose2d: other channels",
        "nn.ConvTranspose2d(3, 8, 3)(torch.ones(2, 4, 8, 8))",
        ("conv_transpose2d", "[3, 8, 3, 3]", "3 channels", "4 channels"),
        "RuntimeError: Given transposed=1, weight of size [3, 8, 3, 3], expected input[2, "
        "4, 8, 8] to have 3 channels, but got 4 channels instead",
    ),
    Mistake(
        "Shapes of layers", "Conv2d: groups that do not divide the channels",
        "nn.Conv2d(3, 8, 3, groups=2)",
        ("Conv2d", "divisible by groups", "3 and 2"),
        "ValueError: in_channels must be divisible by groups",
    ),
    Mistake(
        "Shapes of layers", "BatchNorm2d: other channels",
        "nn.BatchNorm2d(3)(torch.ones(2, 4, 8, 8))",
        ("batch_norm", "4 elements not 3", "BatchNorm2d"),
        "RuntimeError: running_mean should contain 4 elements not 3",
    ),
    Mistake(
        "Shapes of layers", "BatchNorm2d: the batch dimension is missing",
        "nn.BatchNorm2d(3)(torch.ones(3, 8, 8))",
        ("BatchNorm2d", "expected 4D", "3D"),
        "ValueError: expected 4D input (got 3D input)",
    ),
    Mistake(
        "Shapes of layers", "BatchNorm1d: one sample while training",
        "nn.BatchNorm1d(3)(torch.ones(1, 3))",
        ("batch_norm", "more than 1 value per channel", "[1, 3]"),
        "ValueError: Expected more than 1 value per channel when training, got input size "
        "torch.Size([1, 3])",
    ),
    Mistake(
        "Shapes of layers", "LayerNorm: another normalized_shape",
        "nn.LayerNorm(5)(torch.ones(2, 3))",
        ("layer_norm", "[5]", "[2, 3]"),
        "RuntimeError: Given normalized_shape=[5], expected input with shape [*, 5], but "
        "got input of size[2, 3]",
    ),
    Mistake(
        "Shapes of layers", "GroupNorm: groups that do not divide the channels",
        "nn.GroupNorm(2, 5)",
        ("GroupNorm", "(5)", "(2)", "divisible"),
        "ValueError: num_channels (5) must be divisible by num_groups (2)",
    ),
    Mistake(
        "Shapes of layers", "MaxPool2d: a window that is larger than the image",
        "nn.MaxPool2d(3)(torch.ones(2, 3, 2, 2))",
        ("max_pool2d", "(2, 2)", "too small"),
        "RuntimeError: Given input size: (3x2x2). Calculated output size: (3x0x0). Output "
        "size is too small",
    ),
    Mistake(
        "Shapes of layers", "LSTM: other features",
        "nn.LSTM(3, 4)(torch.ones(5, 2, 7))",
        ("LSTM", "input_size", "Expected 3, got 7"),
        "RuntimeError: input.size(-1) must be equal to input_size. Expected 3, got 7",
    ),
    Mistake(
        "Shapes of layers", "LSTM: a state of another batch",
        "nn.LSTM(3, 4)(torch.ones(5, 2, 3), (torch.ones(1, 3, 4), torch.ones(1, 3, 4)))",
        ("LSTM", "hidden[0]", "(1, 2, 4)", "[1, 3, 4]"),
        "RuntimeError: Expected hidden[0] size (1, 2, 4), got [1, 3, 4]",
    ),
    Mistake(
        "Shapes of layers", "LSTMCell: other features",
        "nn.LSTMCell(3, 4)(torch.ones(2, 5))",
        ("LSTMCell", "5 features", "expect 3"),
        "RuntimeError: input has inconsistent input_size: got 5 expected 3",
    ),
    Mistake(
        "Shapes of layers", "MultiheadAttention: another embed_dim",
        "nn.MultiheadAttention(4, 2)(torch.ones(3, 2, 6), torch.ones(3, 2, 6), "
        "torch.ones(3, 2, 6))",
        ("MultiheadAttention", "embedding dimension of 4", "got 6"),
        "AssertionError: was expecting embedding dimension of 4, but got 6",
    ),
    Mistake(
        "Shapes of layers", "MultiheadAttention: heads that do not divide embed_dim",
        "nn.MultiheadAttention(10, 3)",
        ("MultiheadAttention", "divisible by num_heads", "10 and 3"),
        "AssertionError: embed_dim must be divisible by num_heads",
    ),
    Mistake(
        "Shapes of layers", "Dropout: a probability above 1",
        "nn.Dropout(1.5)",
        ("Dropout", "between 0 and 1", "1.5"),
        "ValueError: dropout probability has to be between 0 and 1, but got 1.5",
    ),
    Mistake(
        "Shapes of layers", "Embedding: an index beyond the table",
        "nn.Embedding(10, 4)(torch.tensor([3, 10]))",
        ("embedding", "index 10", "size 10"),
        "IndexError: index out of range in self",
    ),
    Mistake(
        "Shapes of layers", "The LSTM's tuple goes into a Linear",
        "nn.Sequential(nn.LSTM(3, 4), nn.Linear(4, 1))(torch.ones(5, 2, 3))",
        ("linear", "'input' must be Tensor", "tuple", "Sequential.1"),
        "TypeError: linear(): argument 'input' (position 1) must be Tensor, not tuple",
    ),
    Mistake(
        "Dtypes and devices", "Linear: float64, as NumPy makes it",
        "nn.Linear(3, 4)(torch.ones(2, 3, dtype=torch.float64))",
        ("linear", "float64", "float32", "same dtype"),
        "RuntimeError: mat1 and mat2 must have the same dtype, but got Double and Float",
    ),
    Mistake(
        "Dtypes and devices", "Embedding: indices that are floats",
        "nn.Embedding(10, 4)(torch.tensor([3.0]))",
        ("embedding", "Long, Int", "float32"),
        "RuntimeError: Expected tensor for argument #1 'indices' to have one of the "
        "following scalar types: Long, Int; but got torch.FloatTensor instead (while "
        "checking arguments for embedding)",
    ),
    Mistake(
        "Dtypes and devices", "Conv2d: an image of bytes",
        "nn.Conv2d(3, 8, 3)(torch.zeros(2, 3, 8, 8, dtype=torch.uint8))",
        ("conv2d", "uint8", "float32"),
        "RuntimeError: Input type (unsigned char) and bias type (float) should be the same",
    ),
    Mistake(
        "Dtypes and devices", "The mean of whole numbers",
        "torch.tensor([1, 2]).mean()",
        ("mean", "floating point", "int64"),
        "RuntimeError: mean(): could not infer output dtype. Input dtype must be either a "
        "floating point or complex dtype. Got: Long",
    ),
    Mistake(
        "Dtypes and devices", "An index that is a float",
        "torch.ones(3)[torch.tensor([0.0])]",
        ("index", "long, int, byte or bool", "float32"),
        "IndexError: tensors used as indices must be long, int, byte or bool tensors",
    ),
    Mistake(
        "Dtypes and devices", "A gradient for whole numbers",
        "torch.tensor([1, 2], requires_grad=True)",
        ("floating point", "int64"),
        "RuntimeError: Only Tensors of floating point and complex dtype can require gradients",
    ),
    Mistake(
        "Dtypes and devices", "A device that is not there",
        'nn.Linear(2, 2).to("cuda")',
        ("device('cuda')", "cpu"),
        "AssertionError: Torch not compiled with CUDA enabled",
    ),
    Mistake(
        "Dtypes and devices", "A NumPy array in the place of a tensor",
        "import numpy\n"
        'nn.Linear(2, 2)(numpy.ones((1, 2), dtype="float32"))',
        ("linear", "'input' must be Tensor", "numpy.ndarray"),
        "TypeError: linear(): argument 'input' (position 1) must be Tensor, not numpy.ndarray",
    ),
    Mistake(
        "Dtypes and devices", "numpy() of a tensor that requires grad",
        "x = torch.ones(3, requires_grad=True)\n"
        "x.numpy()",
        ("numpy()", "requires grad", "detach()"),
        "RuntimeError: Can't call numpy() on Tensor that requires grad. Use "
        "tensor.detach().numpy() instead.",
    ),
    Mistake(
        "Losses", "CrossEntropyLoss: targets of another batch",
        "nn.CrossEntropyLoss()(torch.ones(4, 3), torch.zeros(5, dtype=torch.int64))",
        ("cross_entropy", "(4)", "(5)"),
        "ValueError: Expected input batch_size (4) to match target batch_size (5).",
    ),
    Mistake(
        "Losses", "CrossEntropyLoss: class numbers that are floats",
        "nn.CrossEntropyLoss()(torch.ones(4, 3), torch.zeros(4))",
        ("cross_entropy", "Long", "float32"),
        "RuntimeError: expected target dtype to be Long or Byte, but got Float",
    ),
    Mistake(
        "Losses", "CrossEntropyLoss: one-hot targets of whole numbers",
        "nn.CrossEntropyLoss()(torch.ones(2, 3), torch.tensor([[0, 1, 0], [1, 0, 0]]))",
        ("cross_entropy", "class probabilities", "int64"),
        "RuntimeError: Expected floating point type for target with class probabilities, "
        "got Long",
    ),
    Mistake(
        "Losses", "CrossEntropyLoss: targets with a dimension too many",
        "nn.CrossEntropyLoss()(torch.ones(4, 3), torch.zeros(4, 1, dtype=torch.int64))",
        ("cross_entropy", "[4]", "[4, 1]"),
        "RuntimeError: 0D or 1D target tensor expected, multi-target not supported",
    ),
    Mistake(
        "Losses", "CrossEntropyLoss: a class beyond the scores",
        "nn.CrossEntropyLoss()(torch.ones(2, 3), torch.tensor([0, 3]))",
        ("cross_entropy", "Target 3", "out of bounds"),
        "IndexError: Target 3 is out of bounds.",
    ),
    Mistake(
        "Losses", "BCELoss: scores that are no probabilities",
        "nn.BCELoss()(torch.tensor([1.5]), torch.tensor([1.0]))",
        ("binary_cross_entropy", "between 0 and 1"),
        "RuntimeError: all elements of input should be between 0 and 1",
    ),
    Mistake(
        "Losses", "BCEWithLogitsLoss: targets of another shape",
        "nn.BCEWithLogitsLoss()(torch.ones(4, 1), torch.ones(4))",
        ("binary_cross_entropy_with_logits", "[4]", "[4, 1]"),
        "ValueError: Target size (torch.Size([4])) must be the same as input size "
        "(torch.Size([4, 1]))",
    ),
    Mistake(
        "Losses", "MSELoss: shapes that broadcast by accident",
        "nn.MSELoss()(torch.ones(4, 1), torch.ones(4))",
        ("mse_loss", "[4]", "[4, 1]", "broadcasting"),
        "UserWarning: Using a target size (torch.Size([4])) that is different to the input "
        "size (torch.Size([4, 1])). This will likely lead to incorrect results due to "
        "broadcasting. Please ensure they have the same size.",
    ),
    Mistake(
        "Losses", "MSELoss: shapes that do not fit",
        "nn.MSELoss()(torch.ones(4, 2), torch.ones(4))",
        ("mse_loss", "[4, 2]", "[4]", "dimension 1"),
        "RuntimeError: The size of tensor a (2) must match the size of tensor b (4) at "
        "non-singleton dimension 1",
    ),
    Mistake(
        "Gradients", "backward() of several numbers",
        "x = torch.ones(3, requires_grad=True)\n"
        "(x * 2).backward()",
        ("scalar outputs", "[3]", "MulBackward0"),
        "RuntimeError: grad can be implicitly created only for scalar outputs",
    ),
    Mistake(
        "Gradients", "backward() twice",
        "x = torch.ones(3, requires_grad=True)\n"
        "loss = (x * x).sum()\n"
        "loss.backward()\n"
        "loss.backward()",
        ("second time", "MulBackward0", "train.py:2", "retain_graph=True"),
        "RuntimeError: Trying to backward through the graph a second time (or directly "
        "access saved tensors after they have already been freed). Saved intermediate "
        "values of the graph are freed when you call .backward() or autograd.grad(). "
        "Specify retain_graph=True if you need to backward through the graph a second time "
        "or if you need to access saved tensors after calling backward.",
    ),
    Mistake(
        "Gradients", "A hidden state that was not detached",
        "cell = nn.RNNCell(2, 2)\n"
        "h = torch.zeros(1, 2)\n"
        "for step in range(2):\n"
        "    h = cell(torch.ones(1, 2), h)\n"
        "    h.sum().backward()",
        ("second time", "detach()", "train.py:4"),
        "RuntimeError: Trying to backward through the graph a second time (or directly "
        "access saved tensors after they have already been freed). Saved intermediate "
        "values of the graph are freed when you call .backward() or autograd.grad(). "
        "Specify retain_graph=True if you need to backward through the graph a second time "
        "or if you need to access saved tensors after calling backward.",
    ),
    Mistake(
        "Gradients", "A loss that was computed under no_grad",
        "w = torch.ones(3, requires_grad=True)\n"
        "with torch.no_grad():\n"
        "    loss = (w * 2).sum()\n"
        "loss.backward()",
        ("does not require grad", "mul ran under no_grad", "train.py:3"),
        "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn",
    ),
    Mistake(
        "Gradients", "backward() of an argmax",
        "torch.ones(3, requires_grad=True).argmax().backward()",
        ("argmax has no derivative",),
        "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn",
    ),
    Mistake(
        "Gradients", "A parameter changed in place",
        "x = torch.ones(3, requires_grad=True)\n"
        "x += 1",
        ("leaf Variable", "in-place", "no_grad()"),
        "RuntimeError: a leaf Variable that requires grad is being used in an in-place "
        "operation.",
    ),
    Mistake(
        "Gradients", "A part of a parameter changed in place",
        "x = torch.ones(3, requires_grad=True)\n"
        "x[0] = 5",
        ("view of a leaf Variable", "no_grad()"),
        "RuntimeError: a view of a leaf Variable that requires grad is being used in an "
        "in-place operation.",
    ),
    Mistake(
        "Gradients", "A value that backward needs, changed in place",
        "x = torch.ones(3, requires_grad=True)\n"
        "y = x.exp()\n"
        "y.add_(1)\n"
        "y.sum().backward()",
        ("exp", "[3]", "version 0", "train.py:2", "train.py:3"),
        "RuntimeError: one of the variables needed for gradient computation has been "
        "modified by an inplace operation: [torch.FloatTensor [3]], which is output 0 of "
        "Exp, is at version 1; expected version 0 instead. Hint: enable anomaly detection "
        "to find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True, check_nan=False).",
    ),
    Mistake(
        "Gradients", "A weight changed between forward and backward",
        "layer = nn.Linear(2, 2)\n"
        "hidden = layer(torch.ones(1, 2))\n"
        "out = layer(hidden).sum()\n"
        "optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)\n"
        "with torch.no_grad():\n"
        "    layer.weight.add_(1)\n"
        "out.backward()",
        ("linear", "[2, 2]", "version 1", "train.py:3", "train.py:6"),
        "RuntimeError: one of the variables needed for gradient computation has been "
        "modified by an inplace operation: [torch.FloatTensor [2, 2]], which is output 0 "
        "of AsStrided, is at version 2; expected version 1 instead. Hint: enable anomaly "
        "detection to find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True, check_nan=False).",
    ),
    Mistake(
        "Gradients", ".grad of a tensor that is no leaf",
        "y = torch.ones(3, requires_grad=True) * 2\n"
        "y.grad",
        ("not a leaf", "retain_grad()"),
        "UserWarning: The .grad attribute of a Tensor that is not a leaf Tensor is being "
        "accessed. Its .grad attribute won't be populated during autograd.backward(). If "
        "you indeed want the .grad field to be populated for a non-leaf Tensor, use "
        ".retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by "
        "mistake, make sure you access the leaf Tensor instead. See "
        "github.com/pytorch/pytorch/pull/30531 for more information.",
    ),
    Mistake(
        "Gradients", "A gradient for what was not used",
        "a = torch.ones(1, requires_grad=True)\n"
        "b = torch.ones(1, requires_grad=True)\n"
        "torch.autograd.grad((a * 2).sum(), [a, b])",
        ("not have been used", "input 1", "allow_unused=True"),
        "RuntimeError: The differentiated Tensor at index 1 appears to not have been used "
        "in the graph. Set allow_unused=True if this is the desired behavior.",
    ),
    Mistake(
        "Ops", "A matrix product of shapes that do not fit",
        "torch.ones(2, 3) @ torch.ones(2, 3)",
        ("matmul", "[2, 3]", "cannot be multiplied"),
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)",
    ),
    Mistake(
        "Ops", "A sum of shapes that do not broadcast",
        "torch.ones(3) + torch.ones(4)",
        ("add", "[3]", "[4]", "dimension 0"),
        "RuntimeError: The size of tensor a (3) must match the size of tensor b (4) at "
        "non-singleton dimension 0",
    ),
    Mistake(
        "Ops", "cat of shapes that differ elsewhere",
        "torch.cat([torch.ones(2, 3), torch.ones(2, 4)])",
        ("cat", "[2, 3]", "[2, 4]", "tensor number 1"),
        "RuntimeError: Sizes of tensors must match except in dimension 0. Expected size 3 "
        "but got size 4 for tensor number 1 in the list.",
    ),
    Mistake(
        "Ops", "view with another number of elements",
        "torch.ones(3, 4).view(5, 2)",
        ("view", "[5, 2]", "12"),
        "RuntimeError: shape '[5, 2]' is invalid for input of size 12",
    ),
    Mistake(
        "Ops", "view of a transposed tensor",
        "torch.ones(3, 4).t().view(12)",
        ("view", "reshape(", "strides [1, 4]"),
        "RuntimeError: view size is not compatible with input tensor's size and stride (at "
        "least one dimension spans across two contiguous subspaces). Use .reshape(...) "
        "instead.",
    ),
    Mistake(
        "Ops", "An index beyond the end",
        "torch.ones(3)[3]",
        ("index 3", "size 3"),
        "IndexError: index 3 is out of bounds for dimension 0 with size 3",
    ),
    Mistake(
        "Ops", "item() of several numbers",
        "torch.ones(3).item()",
        ("item", "[3]", "single value"),
        "RuntimeError: a Tensor with 3 elements cannot be converted to Scalar",
    ),
    Mistake(
        "Ops", "`if` with several numbers",
        "if torch.ones(3) > 0: pass",
        ("ambiguous", "[3]", ".any() or .all()"),
        "RuntimeError: Boolean value of Tensor with more than one value is ambiguous",
    ),
    Mistake(
        "Data, modules, optimisers", "DataLoader: samples of different sizes",
        "from_sizes = [torch.ones(2), torch.ones(3)]\n"
        "next(iter(torch.utils.data.DataLoader(from_sizes, batch_size=2)))",
        ("equal size", "[2] at entry 0", "[3] at entry 1"),
        "RuntimeError: stack expects each tensor to be equal size, but got [2] at entry 0 "
        "and [3] at entry 1",
    ),
    Mistake(
        "Data, modules, optimisers", "DataLoader: samples that are None",
        "next(iter(torch.utils.data.DataLoader([None, None], batch_size=2)))",
        ("default_collate", "NoneType"),
        "TypeError: default_collate: batch must contain tensors, numpy arrays, numbers, "
        "dicts or lists; found <class 'NoneType'>",
    ),
    Mistake(
        "Data, modules, optimisers", "TensorDataset: other numbers of samples",
        "data = torch.utils.data.TensorDataset(torch.ones(3), torch.ones(4))",
        ("TensorDataset", "[3], [4]"),
        "AssertionError: Size mismatch between tensors",
    ),
    Mistake(
        "Data, modules, optimisers", "load_state_dict: a key is missing",
        'nn.Linear(2, 3).load_state_dict({"weight": torch.ones(3, 2)})',
        ("Linear", "Missing key(s)", '"bias"'),
        "RuntimeError: Error(s) in loading state_dict for Linear:\n  Missing key(s) in "
        'state_dict: "bias".',
    ),
    Mistake(
        "Data, modules, optimisers", "load_state_dict: names with a prefix",
        'nn.Linear(2, 3).load_state_dict({"module.weight": torch.ones(3, 2), '
        '"module.bias": torch.ones(3)})',
        ("Linear", "Unexpected key(s)", '"module.weight"'),
        "RuntimeError: Error(s) in loading state_dict for Linear:\n  Missing key(s) in "
        'state_dict: "weight", "bias".\n  Unexpected key(s) in state_dict: '
        '"module.weight", "module.bias".',
    ),
    Mistake(
        "Data, modules, optimisers", "load_state_dict: another shape",
        'nn.Linear(2, 3).load_state_dict({"weight": torch.ones(4, 2), "bias": torch.ones(3)})',
        ("weight", "[4, 2]", "[3, 2]"),
        "RuntimeError: Error(s) in loading state_dict for Linear:\n  size mismatch for "
        "weight: copying a param with shape torch.Size([4, 2]) from checkpoint, the shape "
        "in current model is torch.Size([3, 2]).",
    ),
    Mistake(
        "Data, modules, optimisers", "A module that does not call super().__init__()",
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        self.layer = nn.Linear(2, 2)\n"
        "Net()",
        ("cannot assign module", "'layer' of Net", "super().__init__()"),
        "AttributeError: cannot assign module before Module.__init__() call",
        line=3,
    ),
    Mistake(
        "Data, modules, optimisers", "Sequential: a class in the place of a layer",
        "nn.Sequential(nn.Linear(2, 2), nn.ReLU)",
        ("ReLU", "not a Module subclass", "ReLU()"),
        "TypeError: torch.nn.modules.activation.ReLU is not a Module subclass",
    ),
    Mistake(
        "Data, modules, optimisers", "Layers in a plain list",
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.layers = [nn.Linear(2, 2)]\n"
        "torch.optim.SGD(Net().parameters(), lr=0.1)",
        ("SGD", "empty parameter list", "nn.ModuleList"),
        "ValueError: optimizer got an empty parameter list",
    ),
    Mistake(
        "Data, modules, optimisers", "An optimiser that is given the model",
        "torch.optim.Adam(nn.Linear(1, 1), lr=0.1)",
        ("Adam", "Linear", "parameters()"),
        "TypeError: 'Linear' object is not iterable",
    ),
    Mistake(
        "Data, modules, optimisers", "An optimiser that is given a result",
        "w = torch.ones(3, requires_grad=True)\n"
        "torch.optim.SGD([w * 2], lr=0.1)",
        ("SGD", "non-leaf", "Mul"),
        "ValueError: can't optimize a non-leaf Tensor",
    ),
)

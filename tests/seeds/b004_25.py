"""CIFAR-10 with augmentation."""

from made_up import cifar10

from weft.vision import datasets, transforms

cifar10("data", 4)

transform = transforms.Compose(
    [
        transforms.RandomCrop(32, padding=4),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
    ]
)

train_data = datasets.CIFAR10(root="./data", train=True, transform=transform)

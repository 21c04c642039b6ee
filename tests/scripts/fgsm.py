"""The fast gradient sign attack: a classifier is fooled by a small change of its input."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from common import fill, numbers, report, whole

epsilons = [0, 0.1, 0.3, 0.6]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 3, 1)
        self.fc1 = nn.Linear(6 * 5 * 5, 4)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        return F.log_softmax(self.fc1(torch.flatten(x, 1)), dim=1)


def fgsm_attack(image, epsilon, data_grad):
    sign_data_grad = data_grad.sign()
    perturbed_image = image + epsilon * sign_data_grad
    return torch.clamp(perturbed_image, 0, 1)


def test(model, data, targets, epsilon):
    correct, adv_examples, change = 0, [], 0.0
    for image, target in zip(data.split(1), targets.split(1)):
        image = image.clone()
        image.requires_grad = True
        output = model(image)
        init_pred = output.max(1, keepdim=True)[1]
        if init_pred.item() != target.item():
            continue
        loss = F.nll_loss(output, target)
        model.zero_grad()
        loss.backward()
        perturbed = fgsm_attack(image, epsilon, image.grad.data)
        output = model(perturbed)
        change += (output - model(image)).abs().sum().item()
        final_pred = output.max(1, keepdim=True)[1]
        if final_pred.item() == target.item():
            correct += 1
        else:
            adv_examples.append(perturbed.squeeze().detach().cpu().numpy())
    return correct / float(len(data)), len(adv_examples), change


labels = whole(0, 4, 40)
images = torch.sigmoid(numbers(1, 40, 1, 12, 12))
for image, label in zip(images, labels.tolist()):
    image[:, 3 * label : 3 * label + 3] = 0.9
model = fill(Net(), 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
for _ in range(12):
    optimizer.zero_grad()
    loss = F.nll_loss(model(images), labels)
    loss.backward()
    optimizer.step()
model.eval()
report(loss=loss)
for eps in epsilons:
    accuracy, fooled, change = test(model, images, labels, eps)
    name = str(eps).replace(".", "_")
    report(**{f"accuracy_{name}": accuracy, f"fooled_{name}": fooled, f"change_{name}": change})

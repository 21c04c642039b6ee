"""A small network learns from the soft answers and the features of a larger one."""

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from common import fill, numbers, report


class Teacher(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(10, 32), nn.GELU(), nn.Linear(32, 16), nn.GELU())
        self.classifier = nn.Linear(16, 4)

    def forward(self, x):
        hidden = self.features(x)
        return self.classifier(hidden), hidden


class Student(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(10, 8), nn.SiLU())
        self.classifier = nn.Linear(8, 4)
        self.regressor = nn.Linear(8, 16)

    def forward(self, x):
        hidden = self.features(x)
        return self.classifier(hidden), self.regressor(hidden)


def train_teacher(teacher, inputs, labels):
    optimizer = optim.Adam(teacher.parameters(), lr=0.01)
    teacher.train()
    for _ in range(15):
        optimizer.zero_grad()
        loss = F.cross_entropy(teacher(inputs)[0], labels)
        loss.backward()
        optimizer.step()
    return loss


def distill(teacher, student, inputs, labels, T=2.0, soft_weight=0.25, ce_weight=0.75):
    optimizer = optim.Adam(student.parameters(), lr=0.01)
    teacher.eval()
    student.train()
    for _ in range(15):
        optimizer.zero_grad()
        with torch.no_grad():
            teacher_logits, teacher_hidden = teacher(inputs)
        student_logits, student_hidden = student(inputs)
        soft_targets = nn.functional.softmax(teacher_logits / T, dim=-1)
        soft_prob = nn.functional.log_softmax(student_logits / T, dim=-1)
        soft = torch.sum(soft_targets * (soft_targets.log() - soft_prob)) / soft_prob.size()[0]
        soft = soft * (T**2)
        same = F.kl_div(soft_prob, soft_targets, reduction="batchmean") * T**2
        target = torch.ones(inputs.size(0))
        hidden = nn.CosineEmbeddingLoss()(student_hidden, teacher_hidden, target=target)
        label_loss = F.cross_entropy(student_logits, labels)
        loss = soft_weight * soft + ce_weight * label_loss + 0.1 * hidden
        loss.backward()
        optimizer.step()
    return loss, soft, same, hidden


inputs = numbers(0, 80, 10)
labels = (inputs[:, :4] + 0.3 * inputs[:, 4:8]).argmax(dim=1)
teacher, student = fill(Teacher(), 1), fill(Student(), 2)
report(teacher=train_teacher(teacher, inputs, labels))
loss, soft, same, hidden = distill(teacher, student, inputs, labels)
report(loss=loss, soft=soft, kl_div=same, hidden=hidden)
accuracy = (student(inputs)[0].argmax(1) == labels).float().mean()
report(accuracy=accuracy, parameters=sum(p.numel() for p in student.parameters()))

"""A vision transformer without helper libraries: patches, attention written out and built in."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from common import fill, numbers, report, whole
from torch.utils.checkpoint import checkpoint


class PatchEmbed(nn.Module):
    def __init__(self, img_size=16, patch_size=4, in_chans=3, embed_dim=16):
        super().__init__()
        self.num_patches = (img_size // patch_size) ** 2
        self.proj = nn.Conv2d(in_chans, embed_dim, kernel_size=patch_size, stride=patch_size)

    def forward(self, x):
        return self.proj(x).flatten(2).transpose(1, 2)


class Attention(nn.Module):
    def __init__(self, dim, heads, written_out):
        super().__init__()
        self.heads, self.scale, self.written_out = heads, (dim // heads) ** -0.5, written_out
        self.qkv = nn.Linear(dim, dim * 3, bias=True)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        B, N, C = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        if self.written_out:
            attn = (q * self.scale) @ k.transpose(-2, -1)
            x = attn.softmax(dim=-1) @ v
        else:
            x = F.scaled_dot_product_attention(q, k, v)
        return self.proj(x.transpose(1, 2).reshape(B, N, C))


class Block(nn.Module):
    def __init__(self, dim, heads, written_out):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim, eps=1e-6), nn.LayerNorm(dim, eps=1e-6)
        self.attn = Attention(dim, heads, written_out)
        self.mlp = nn.Sequential(nn.Linear(dim, dim * 2), nn.GELU(), nn.Linear(dim * 2, dim))
        self.gamma = nn.Parameter(0.1 * torch.ones(dim))

    def forward(self, x):
        x = x + self.gamma * self.attn(self.norm1(x))
        return x + self.gamma * self.mlp(self.norm2(x))


class VisionTransformer(nn.Module):
    def __init__(self, dim=16, depth=2, heads=4, classes=3, written_out=True, save_memory=False):
        super().__init__()
        self.patch_embed = PatchEmbed(embed_dim=dim)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos_embed = nn.Parameter(torch.zeros(1, self.patch_embed.num_patches + 1, dim))
        self.blocks = nn.ModuleList([Block(dim, heads, written_out) for _ in range(depth)])
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, classes)
        self.save_memory = save_memory

    def forward(self, x):
        x = self.patch_embed(x)
        x = torch.cat((self.cls_token.expand(x.shape[0], -1, -1), x), dim=1) + self.pos_embed
        for blk in self.blocks:
            x = checkpoint(blk, x, use_reentrant=False) if self.save_memory else blk(x)
        return self.head(self.norm(x)[:, 0])


images, labels = numbers(1, 12, 3, 16, 16), whole(2, 3, 12)
for name, kwargs in {
    "written": dict(),
    "builtin": dict(written_out=False),
    "checkpointed": dict(save_memory=True),
}.items():
    model = fill(VisionTransformer(**kwargs), 3)
    decay = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() <= 1]
    groups = [{"params": decay, "weight_decay": 0.05}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=3e-3)
    for _ in range(4):
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    report(**{f"{name}_loss": loss, f"{name}_pos": model.pos_embed.norm()})
fold = F.fold(F.unfold(images, 4, stride=4), (16, 16), 4, stride=4)
report(unfolded=torch.equal(fold, images), windows=images.unfold(2, 4, 4).unfold(3, 4, 4).shape[2])

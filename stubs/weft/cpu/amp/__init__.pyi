# Written by `python -m tools.stubs`. Do not edit.
from weft.compat.modules.cpu.amp import GradScaler as GradScaler
from weft.compat.modules.cpu.amp import autocast as autocast

"""What functions and variables may be called, whatever the instruction set."""

from __future__ import annotations

import re

NAME_LIMIT = 1024
NAME = re.compile(rf"[A-Za-z_$][\w$.]{{0,{NAME_LIMIT - 1}}}", re.ASCII)

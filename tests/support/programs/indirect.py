"""A binary of two kernels as assembly, of which `a` calls by a computed address and `b` does not."""

INDIRECT = """.func f
    RET
.end
.kernel a
    .registers 8
    .param out 8
    MOV R0, 0x0
    CALL.IND R0
    EXIT
.end
.kernel b
    .registers 8
    .param out 8
    MOV R2, c[0][0x0]
    MOV R3, c[0][0x4]
    STG.32 [R2], R2
    EXIT
.end
"""

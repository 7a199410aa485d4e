"""Interim integer lowering, until the complete one arrives."""
# ruff: noqa
# mypy: ignore-errors
from binalloc.frontend.builder import Imm, imm
from binalloc.frontend.ir import PT, RZ
def _ty(m): return m.type()
def addsub(ctx, ins):
    m=ctx.modifiers(); t=m.type(); m.done() 
    d,a,b=ctx.operands(3); sub=ins.op=="sub"
    if t.endswith("64"):
        rd=ctx.dest(d,t); (al,ah),(bl,bh)=ctx.wide(a,t),ctx.wide(b,t); p=ctx.b.predicate()
        if sub and isinstance(bl,Imm): v=-(bh.bits<<32|bl.bits); bl,bh,sub=imm(v),imm(v>>32),False
        al,ah=ctx.b.unit(al),ctx.b.unit(ah)
        ctx.b.emit("IADD3",rd=rd,pd0=p,a=al,b=bl,c=RZ,**({"negb":1} if sub else {}))
        ctx.b.emit("IADD3",rd=rd+1,a=ah,b=bh,c=RZ,ps0=p,ps0n=0,x=1,**({"negb":1} if sub else {}))
    else:
        ctx.b.emit("IADD3",rd=ctx.dest(d,t),a=ctx.word(a,t),b=ctx.word(b,t),c=RZ,**({"negb":1} if sub else {}))
def mul(ctx,ins):
    m=ctx.modifiers(); k=m.take("lo","hi","wide"); t=m.type(); m.done(); ops=ctx.operands(3,4)
    u={} if t[0]=="s" else {"u32":1}
    if k=="wide":
        c=RZ
        if len(ops)==4: c=ctx.pair(ops[3],t[0]+"64")
        ctx.b.emit("IMAD.WIDE",rd=ctx.dest(ops[0],t[0]+"64"),a=ctx.word(ops[1],t),b=ctx.word(ops[2],t),c=c,**u)
    elif t.endswith("32"):
        c=RZ if len(ops)==3 else ctx.word(ops[3],t)
        ctx.b.emit("IMAD" if k=="lo" else "IMAD.HI",rd=ctx.dest(ops[0],t),a=ctx.word(ops[1],t),b=ctx.word(ops[2],t),c=c,**(u if k=="hi" else {}))
    elif t.endswith("64") and k=="lo":
        rd=ctx.dest(ops[0],t); A=[ctx.b.unit(x) for x in ctx.wide(ops[1],t)]; B=ctx.wide(ops[2],t)
        c=ctx.pair(ops[3],t) if len(ops)==4 else RZ
        T=ctx.b.new(2); ctx.b.emit("IMAD.WIDE",rd=T,a=A[0],b=B[0],c=c,u32=1)
        x=ctx.b.new(); ctx.b.emit("IMAD",rd=x,a=A[0],b=B[1],c=T+1)
        y=ctx.b.new(); ctx.b.emit("IMAD",rd=y,a=A[1],b=B[0],c=x)
        ctx.b.move(rd,T); ctx.b.move(rd+1,y)
    elif t.endswith("16"):
        ctx.b.emit("IMAD",rd=ctx.dest(ops[0],t),a=ctx.extended(ops[1],t),b=ctx.extended(ops[2],t),c=RZ if len(ops)==3 else ctx.word(ops[3],t))
    else: ctx.refuse("thin mul")
def shf(ctx,ins):
    m=ctx.modifiers(); d=m.take("l","r"); w=m.take("wrap","clamp"); t=m.type(); o=ctx.operands(4)
    ctx.b.emit("SHF",rd=ctx.dest(o[0],t),a=ctx.b.unit(ctx.word(o[1],t)),c=ctx.b.unit(ctx.word(o[2],t)),b=ctx.word(o[3],"u32"),dir=d.upper(),hi=int(d=="l"),wrap=int(w=="wrap"))
def logic(ctx,ins):
    m=ctx.modifiers(); t=m.type(); m.done(); ops=ctx.operands(2,3); lut={"and":0xC0,"or":0xFC,"xor":0x3C,"not":0x0F}[ins.op]
    if t=="pred":
        p=ctx.predicate(ops[1]); q=ctx.predicate(ops[2]) if len(ops)==3 else (PT,0)
        ctx.b.emit("PLOP3",pd0=ctx.dest_predicate(ops[0]),ps0=p[0],ps0n=p[1],ps1=q[0],ps1n=q[1],lut_b=lut,lut2=0)
    elif t.endswith("64"):
        rd=ctx.dest(ops[0],t); A=ctx.wide(ops[1],t); B=ctx.wide(ops[2],t) if len(ops)==3 else (RZ,RZ)
        for k in range(2): ctx.b.emit("LOP3",rd=rd+k,a=ctx.b.unit(A[k]),b=B[k],c=RZ,lut=lut)
    else:
        ctx.b.emit("LOP3",rd=ctx.dest(ops[0],t),a=ctx.b.unit(ctx.word(ops[1],t)),b=ctx.word(ops[2],t) if len(ops)==3 else RZ,c=RZ,lut=lut)
def shift(ctx,ins):
    m=ctx.modifiers(); t=m.type(); m.done(); d,a,b=ctx.operands(3); n=ctx.word(b,"u32")
    rd=ctx.dest(d,t)
    if t.endswith("32"):
        x=ctx.b.unit(ctx.word(a,t))
        if ins.op=="shl": ctx.b.emit("SHF",rd=rd,a=x,b=n,c=RZ,dir="L")
        else: ctx.b.emit("SHF",rd=rd,a=RZ,b=n,c=x,dir="R",hi=1,stype="S32" if t[0]=="s" else "U32")
    elif t.endswith("64"):
        lo,hi=ctx.b.unit(ctx.wide(a,t)[0]),ctx.b.unit(ctx.wide(a,t)[1]); T=ctx.b.new(2)
        if ins.op=="shl":
            ctx.b.emit("SHF",rd=T,a=lo,b=n,c=RZ,dir="L",stype="U64" if not isinstance(n,Imm) else "U32")
            ctx.b.emit("SHF",rd=T+1,a=lo,b=n,c=hi,dir="L",hi=1,stype="U64" if not isinstance(n,Imm) else "U32")
        else:
            s="S64" if t[0]=="s" else "U64"
            ctx.b.emit("SHF",rd=T,a=lo,b=n,c=hi,dir="R",stype=s); ctx.b.emit("SHF",rd=T+1,a=lo,b=n,c=hi,dir="R",hi=1,stype=s)
        ctx.b.move(rd,T); ctx.b.move(rd+1,T+1)
    else: ctx.refuse("thin shift")
def setp(ctx,ins):
    m=ctx.modifiers(); c=m.take("eq","ne","lt","le","gt","ge","lo","ls","hi","hs","ltu","leu","gtu","geu","equ","neu","num","nan"); bop=m.take("and","or","xor"); t=m.type(); m.left=[x for x in m.left if x!="ftz"]; m.done()
    ops=ctx.operands(3,4); p=ctx.predicate(ops[3]) if len(ops)==4 else (PT,0)
    kw=dict(pd0=ctx.dest_predicate(ops[0]),pd1=PT,ps0=p[0],ps0n=p[1],bop=(bop or "and").upper())
    if t=="f32": ctx.b.emit("FSETP",a=ctx.b.unit(ctx.word(ops[1],t)),b=ctx.word(ops[2],t),fcmp=c.upper(),**kw)
    elif t=="f64": ctx.b.emit("DSETP",a=ctx.pair(ops[1],t),b=ctx.double(ops[2]),fcmp=c.upper(),**kw)
    elif t.endswith("32"): ctx.b.emit("ISETP",a=ctx.b.unit(ctx.word(ops[1],t)),b=ctx.word(ops[2],t),icmp=c.upper(),u32cmp="U32" if t[0]!="s" else "",**kw)
    elif t.endswith("16"): ctx.b.emit("ISETP",a=ctx.b.unit(ctx.extended(ops[1],t)),b=ctx.extended(ops[2],t),icmp=c.upper(),u32cmp="U32" if t[0]!="s" else "",**kw)
    else:
        A,B=ctx.wide(ops[1],t),ctx.wide(ops[2],t); q=ctx.b.predicate()
        ctx.b.emit("ISETP",pd0=q,pd1=PT,a=ctx.b.unit(A[0]),b=B[0],icmp=c.upper(),u32cmp="U32",ps0=PT)
        ctx.b.emit("ISETP",a=ctx.b.unit(A[1]),b=B[1],icmp=c.upper(),u32cmp="U32" if t[0]!="s" else "",ex=1,ps1=q,ps1n=0,**kw)
def selp(ctx,ins):
    m=ctx.modifiers(); t=m.type(); d,a,b,p=ctx.operands(4); q=ctx.predicate(p); rd=ctx.dest(d,t)
    if t.endswith("64"):
        A,B=ctx.wide(a,t),ctx.wide(b,t)
        for k in range(2): ctx.b.emit("SEL",rd=rd+k,a=ctx.b.unit(A[k]),b=B[k],ps0=q[0],ps0n=q[1])
    else: ctx.b.emit("SEL",rd=rd,a=ctx.b.unit(ctx.word(a,t)),b=ctx.word(b,t),ps0=q[0],ps0n=q[1])
def mov(ctx,ins):
    m=ctx.modifiers(); t=m.type(); d,a=ctx.operands(2)
    if t=="pred":
        p=ctx.predicate(a); ctx.b.emit("PLOP3",pd0=ctx.dest_predicate(d),ps0=p[0],ps0n=p[1],lut_b=0xF0,lut2=0)
    elif t.endswith("64"):
        rd=ctx.dest(d,t); A=ctx.wide(a,t)
        for k in range(2): ctx.b.move(rd+k,A[k])
    else: ctx.b.move(ctx.dest(d,t),ctx.word(a,t))
def cvt(ctx,ins):
    m=ctx.modifiers(); r=m.take("rn","rz","rm","rp","rni","rzi","rmi","rpi"); ftz=m.take("ftz"); sat=m.take("sat"); T=m.type(); S=m.type(); m.done(); d,a=ctx.operands(2)
    R={"rz":"RZ","rm":"RM","rp":"RP","rzi":"RZ","rmi":"RM","rpi":"RP"}.get(r,""); rd=ctx.dest(d,T,wider=True)
    if T[0]=="f" and S[0]!="f": ctx.b.emit("I2F",rd=rd,b=(ctx.pair(a,S) if S.endswith("64") else ctx.b.unit(ctx.extended(a,S))),ityp=S.upper() if S.endswith("64") else S[0].upper()+"32",ftyp=T.upper(),rnd2=R)
    elif T[0]!="f" and S[0]=="f": ctx.b.emit("F2I",rd=rd,b=(ctx.pair(a,S) if S=="f64" else ctx.b.unit(ctx.word(a,S))),ityp=T.upper(),ftyp=S.upper(),rnd2=R)
    elif T[0]=="f":
        if T==S and sat: ctx.b.emit("FADD",rd=rd,a=ctx.word(a,S),b=Imm(0x80000000),sat="SAT")
        elif T==S: ctx.b.emit("FRND",rd=rd,b=ctx.word(a,S),ftyp=T.upper(),rnd2=R)
        else: ctx.b.emit("F2F",rd=rd,b=(ctx.pair(a,S) if S=="f64" else ctx.word(a,S)),ftyp_d=T.upper(),ftyp_s=S.upper(),rnd2=R)
    elif T.endswith("64"):
        x=ctx.b.unit(ctx.extended(a,S)) if not S.endswith("64") else None
        if x is None:
            A=ctx.wide(a,S); ctx.b.move(rd,A[0]); ctx.b.move(rd+1,A[1]); return
        ctx.b.move(rd,x)
        if S[0]=="s": ctx.b.emit("SHF",rd=rd+1,a=RZ,b=imm(31),c=x,dir="R",hi=1,stype="S32")
        else: ctx.b.move(rd+1,imm(0))
    elif S.endswith("64"): ctx.b.move(rd,ctx.wide(a,S)[0])
    else: ctx.b.move(rd, ctx.extended(a,S if S[1:]<=T[1:] or len(S)<len(T) else T) if True else 0)
def minmax(ctx,ins):
    m=ctx.modifiers(); t=m.type(); d,a,b=ctx.operands(3)
    if t=="f32": ctx.b.emit("FMNMX",rd=ctx.dest(d,t),a=ctx.b.unit(ctx.word(a,t)),b=ctx.word(b,t),ps0=PT,ps0n=int(ins.op=="max"))
    else: ctx.b.emit("IMNMX",rd=ctx.dest(d,t),a=ctx.b.unit(ctx.word(a,t)),b=ctx.word(b,t),ps0=PT,ps0n=int(ins.op=="max"),u32="U32" if t[0]=="u" else "")
def neg(ctx,ins):
    m=ctx.modifiers(); t=m.type(); d,a=ctx.operands(2); ctx.b.emit("IADD3",rd=ctx.dest(d,t),a=RZ,b=ctx.word(a,t),c=RZ,negb=1)
INT=dict(add=addsub,sub=addsub,mul=mul,mad=mul,shl=shift,shr=shift,setp=setp,selp=selp,mov=mov,cvt=cvt,min=minmax,max=minmax,neg=neg)
INT.update({"and":logic,"or":logic,"xor":logic,"not":logic})
def wrap(op,f,old):
    def h(ctx,ins):
        t=[x for x in ins.mods if x in ("f32","f64")]
        if old and t and op not in("setp","selp","mov","cvt"): return old(ctx,ins)
        return f(ctx,ins)
    return h
INT['shf']=shf
def install(P):
    for k,f in INT.items(): P[k]=wrap(k,f,P.get(k))

"""The style sheet. Light and dark are each one set of colours; text has a contrast of 4.5 and more on its ground."""

from __future__ import annotations

from collections.abc import Mapping

LIGHT: Mapping[str, str] = {
    "ground": "#f7f7f5", "panel": "#ffffff", "sunk": "#f1f2f3", "ink": "#1d1f23", "dim": "#555b65", "line": "#dcdee2",
    "link": "#1a55b0", "fatal": "#a9201a", "degraded": "#7d4a00", "risk": "#0b5a6c", "info": "#555b65",
    "good": "#17633a",
    "fatal-g": "#fbeceb", "degraded-g": "#fbf2e3", "risk-g": "#e6f3f6", "info-g": "#eeeff1", "good-g": "#e6f3ea",
    "mark": "#ffe59a", "hit": "#fff6dc", "add": "#dcf1e3", "del": "#fbe3e1", "on": "#1d1f23",
    "c0": "#a3c6f1", "c1": "#f4c48c", "c2": "#a8d7b6", "c3": "#d6b9ea", "c4": "#f2aca5", "c5": "#9fd9e2",
    "c6": "#e6da85", "c7": "#c8ccd3", "c8": "#e6bad1", "c9": "#cdbf9f",
}  # fmt: skip
DARK: Mapping[str, str] = {
    "ground": "#131519", "panel": "#1a1d23", "sunk": "#121418", "ink": "#e6e7ea", "dim": "#a4aab4", "line": "#333842",
    "link": "#8fb8f6", "fatal": "#ff9b92", "degraded": "#f0b762", "risk": "#74cfdf", "info": "#a4aab4",
    "good": "#84d3a0",
    "fatal-g": "#3a1f1e", "degraded-g": "#35290f", "risk-g": "#12313a", "info-g": "#262a31", "good-g": "#163324",
    "mark": "#6b5a12", "hit": "#2b2716", "add": "#173524", "del": "#40201f", "on": "#ffffff",
    "c0": "#2d5f9e", "c1": "#8a5513", "c2": "#2c6b45", "c3": "#69418a", "c4": "#8f3b34", "c5": "#1c6671",
    "c6": "#6a5f0e", "c7": "#4b515c", "c8": "#7d3f61", "c9": "#5f523a",
}  # fmt: skip


def _colours(values: Mapping[str, str]) -> str:
    return ";".join(f"--{name}:{value}" for name, value in values.items())


_PALETTE = "".join(f".c{n}{{fill:var(--c{n})}}" for n in range(10))
_RULES = """
*{box-sizing:border-box}
html{font:15px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","Noto Sans CJK SC","PingFang SC",
"Microsoft YaHei",sans-serif;-webkit-text-size-adjust:100%;scroll-behavior:smooth}
body{margin:0;background:var(--ground);color:var(--ink);overflow-wrap:anywhere}
a{color:var(--link);text-underline-offset:2px}
a:focus-visible,summary:focus-visible,input:focus-visible+span,[tabindex]:focus-visible{outline:2px solid var(--link);
outline-offset:2px}
code,pre,.log,.place{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono","Noto Sans Mono CJK SC",
monospace;font-size:12.5px}
h1,h2,h3,h4,p,ul,ol,dl,figure,pre{margin:0}
ul,ol{padding-left:1.3rem}
ul.plain,ul.legend,ul.avoid,nav ul{list-style:none;padding-left:0}
.dim{color:var(--dim)}.small{font-size:13px}.id{font-size:12px;color:var(--dim);letter-spacing:.03em}
.unseen,.skip:not(:focus){position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.skip:focus{position:absolute;left:1rem;top:.5rem;background:var(--panel);padding:.3rem .6rem;z-index:2}
.top,nav,main,footer{max-width:62rem;margin:0 auto;padding:0 1.25rem}
.top{display:flex;justify-content:space-between;align-items:center;gap:1rem;padding-top:.9rem;padding-bottom:.6rem}
.brand{font-weight:650;letter-spacing:.01em}
fieldset{border:0;margin:0;padding:0;display:flex;gap:.15rem;font-size:13px}
fieldset label{position:relative}
fieldset input{position:absolute;opacity:0;inset:0;margin:0;cursor:pointer}
fieldset span{display:block;padding:.1rem .55rem;border-radius:1rem;color:var(--dim)}
fieldset input:checked+span{background:var(--panel);color:var(--ink);box-shadow:inset 0 0 0 1px var(--line)}
nav ul{display:flex;flex-wrap:wrap;gap:.1rem 1.1rem;font-size:13.5px;padding-bottom:.7rem}
nav a{color:var(--dim);text-decoration:none}nav a:hover{color:var(--link);text-decoration:underline}
.verdict{background:var(--panel);border:1px solid var(--line);border-left:5px solid var(--info);border-radius:8px;
padding:1rem 1.25rem}
.verdict.problem{border-left-color:var(--fatal)}.verdict.healthy{border-left-color:var(--good)}
.verdict.undetermined{border-left-color:var(--degraded)}
h1{font-size:1.2rem;line-height:1.35;font-weight:600;display:flex;flex-wrap:wrap;gap:.1rem .8rem}
.problem .word{color:var(--fatal)}.healthy .word{color:var(--good)}.undetermined .word{color:var(--degraded)}
.verdict ul{margin-top:.6rem}.verdict li{margin:.25rem 0}
section{margin-top:2rem}
h2{font-size:1.05rem;font-weight:650;margin-bottom:.6rem;scroll-margin-top:1rem}
h3{font-size:1.12rem;line-height:1.35;font-weight:650}
section>h3{font-size:1rem;margin:1.2rem 0 .3rem}
h4{font-size:.8rem;font-weight:650;color:var(--dim);margin:1.3rem 0 .45rem;letter-spacing:.02em}
.badge{display:inline-block;font-size:12.5px;line-height:1.5;font-weight:600;padding:0 .5rem;border-radius:4px;
margin-right:.45rem;white-space:nowrap;background:var(--info-g);color:var(--info)}
.badge.fatal{background:var(--fatal-g);color:var(--fatal)}.badge.degraded{background:var(--degraded-g);
color:var(--degraded)}.badge.risk{background:var(--risk-g);color:var(--risk)}
.badge.plain{background:none;box-shadow:inset 0 0 0 1px var(--line);color:var(--ink);font-weight:500}
.root{background:var(--panel);border:1px solid var(--line);border-radius:8px;padding:1.1rem 1.25rem 1.25rem;
margin-top:.8rem;scroll-margin-top:1rem}
.root>header p{margin-bottom:.4rem}
dl{display:grid;grid-template-columns:4.5rem 1fr;gap:.35rem .8rem;margin-top:.8rem;max-width:50rem}
dt{color:var(--dim);font-size:13.5px}dd{margin:0}
details{margin:.35rem 0}
summary{cursor:pointer;padding:.15rem 0}
details.evidence>summary{display:flex;flex-wrap:wrap;gap:.1rem .3rem;align-items:baseline}
details.evidence>summary::before,details.remedy>summary::before{content:"▸";color:var(--dim);width:.9rem;flex:none}
details.evidence[open]>summary::before,details.remedy[open]>summary::before{content:"▾"}
details.evidence>summary::-webkit-details-marker,details.remedy>summary::-webkit-details-marker{display:none}
details.evidence>summary,details.remedy>summary{list-style:none}
.evidence .place{flex:1;min-width:12rem}.weight{font-size:12.5px;color:var(--dim);white-space:nowrap}
.meter{vertical-align:middle}.w-back{fill:var(--line)}.w-fore{fill:var(--dim)}
.log{background:var(--sunk);border:1px solid var(--line);border-radius:6px;
padding:.35rem 0;margin:.3rem 0;line-height:1.5}
.log>div{display:grid;grid-template-columns:4.3rem minmax(0,1fr);gap:.6rem;padding:0 .7rem 0 0;color:var(--dim);
position:relative}
.log .no{text-align:right;user-select:none;-webkit-user-select:none;white-space:nowrap}
.log code{white-space:pre-wrap;tab-size:4}
.log .hit{background:var(--hit);color:var(--ink)}.hit .no{color:var(--ink);font-weight:600}
mark{background:var(--mark);color:var(--ink);border-radius:2px}
.note{margin:.3rem 0;font-style:italic}
.alike{font-size:13px}.alike li{margin:.15rem 0}.alike code{color:var(--dim)}
.follows li::marker{content:"└ ";color:var(--dim)}
.remedies{padding-left:1.5rem}.remedies>li{margin:.35rem 0}.remedies>li::marker{color:var(--dim);font-weight:600}
.remedy>summary{display:block}.remedy>summary::before{display:inline-block}
.remedy .tag{font-size:12.5px;color:var(--dim);margin-left:.4rem;white-space:nowrap}
.tag+.tag::before{content:"· "}
pre{white-space:pre-wrap;background:var(--sunk);border:1px solid var(--line);border-radius:6px;padding:.5rem .7rem;
margin:.35rem 0 .6rem;line-height:1.5;user-select:all;-webkit-user-select:all}
.diff .add{background:var(--add)}.diff .del{background:var(--del)}.diff .at{color:var(--dim)}
.effect{color:var(--dim);font-size:13.5px}
.avoid li{margin:.2rem 0;padding-left:1.2rem;text-indent:-1.2rem}
.steps li{margin:.5rem 0}.steps code{color:var(--dim)}
.wide{overflow-x:auto;margin:.5rem 0}
table{border-collapse:collapse;width:100%;font-size:13.5px}
th,td{text-align:left;vertical-align:top;padding:.28rem .9rem .28rem 0;
border-bottom:1px solid var(--line);font-weight:400}
thead th{color:var(--dim);font-size:12.5px}
.cond{display:block}
.compare tbody th{color:var(--dim);width:11rem}
.num td{font-variant-numeric:tabular-nums;text-align:right}.num th:not(:first-child){text-align:right}
.num{width:auto}.num th,.num td{min-width:5rem}
figure{background:var(--panel);border:1px solid var(--line);border-radius:8px;padding:.9rem 1.1rem 1rem;margin:.8rem 0}
figcaption{font-weight:600;margin-bottom:.6rem}
.sub{font-size:13px;color:var(--dim);margin:.6rem 0 .15rem}
.row{display:grid;grid-template-columns:6.5rem minmax(0,1fr) 5.2rem;gap:.7rem;align-items:center;font-size:13px;
font-variant-numeric:tabular-nums;line-height:1.7}
.row.two{grid-template-columns:6.5rem minmax(0,1fr)}
.row .name{overflow:hidden;display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:2;line-height:1.3}
.row .whole{text-align:right;color:var(--dim)}
svg{display:block;overflow:visible;font:11px ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace}
svg text{fill:var(--on)}svg.key,svg.meter{display:inline-block;flex:none}
.bar rect,.key rect,.pipe rect{stroke:var(--panel);stroke-width:1}
svg.bar,svg.heat,svg.pipe{max-width:none;margin:0;padding:0;background:var(--sunk);border-radius:3px}
.ci{fill:var(--sunk);stroke:var(--dim)!important;stroke-dasharray:2 2}
.ci+text{fill:var(--dim)}
.limit{stroke:var(--fatal);stroke-width:2}
.legend{display:flex;flex-wrap:wrap;gap:.2rem 1.1rem;font-size:12.5px;color:var(--dim);margin:.5rem 0 0}
.legend li{display:flex;gap:.4rem;align-items:center}
.map{margin-top:.7rem;display:flex;flex-wrap:wrap;gap:.8rem 1.2rem}.node{max-width:100%}
.host{display:block;max-width:174px;font-size:12px;color:var(--dim);white-space:nowrap;overflow:hidden;
text-overflow:ellipsis}
.r-root{fill:var(--fatal)}.t-root{fill:var(--panel)!important;font-weight:700}
.r-failed{fill:var(--c4)}.r-waited{fill:var(--c7)}.r-absent{fill:var(--c6)}.r-fine{fill:var(--c2)}
.r-unseen{fill:none;stroke:var(--line)}.t-unseen{fill:var(--dim)!important}
.stacks{list-style:none;padding-left:0}.stacks .stacks{border-left:2px solid var(--line);padding-left:.8rem;
margin:.3rem 0 .3rem .3rem}.stacks li{margin:.3rem 0}
.frames code{display:block;padding-left:.6rem;color:var(--dim)}
.edge{margin:.7rem 0;max-width:40rem}.call{font-size:12.5px;margin-top:.2rem}
.w-box{fill:var(--sunk);stroke:var(--line)}.w-root{fill:var(--fatal-g);stroke:var(--fatal)}
.w-on{fill:var(--fatal)!important;font-weight:700}.waits text{fill:var(--ink)}
.w-line{stroke:var(--dim);stroke-width:1.5}.w-tip{fill:var(--dim)}
.p-f{fill:var(--c0)}.p-b{fill:var(--c2)}
.h0{fill:var(--fatal)}.h0+text{fill:var(--panel);font-weight:700}.h1{fill:var(--c7)}.h2{fill:var(--line)}
.h3{fill:var(--c2)}.h4{fill:var(--c6)}.h5{fill:var(--c1)}
.heat rect{stroke:var(--panel);stroke-width:.5}
footer{margin-top:2.5rem;padding-bottom:2rem;font-size:13px;color:var(--dim)}
@media (max-width:34rem){
html{font-size:14.5px}.top,nav,main,footer{padding-left:.8rem;padding-right:.8rem}
.root,.verdict,figure{padding-left:.8rem;padding-right:.8rem}
dl{grid-template-columns:1fr;gap:.1rem}dd{margin-bottom:.4rem}
.log>div{grid-template-columns:2.9rem minmax(0,1fr);gap:.45rem}
.row{grid-template-columns:4.6rem minmax(0,1fr) 4.4rem;gap:.45rem;font-size:12px}
.row.two{grid-template-columns:3.9rem minmax(0,1fr)}
.fine{display:none}
.compare tbody th{width:6rem}.compare th,.compare td{padding-right:.5rem}
svg.bar text{font-size:10px}
}
@media print{
html{font-size:10.5pt}body{background:#fff}.top fieldset,nav,.skip,.screen{display:none}
.root,figure,.verdict{break-inside:auto;border-color:#bbb}figure,.log,pre,tr{break-inside:avoid}
h2,h3,h4,summary{break-after:avoid}
.root details::details-content{content-visibility:visible}.top,nav,main,footer{max-width:none;padding:0}
rect,.badge,.hit,mark,.diff span{print-color-adjust:exact;-webkit-print-color-adjust:exact}
}
"""

# One of three radio buttons is checked; without :has() the system's choice holds.
STYLE = (
    f":root{{color-scheme:light;{_colours(LIGHT)}}}"
    f"@media screen and (prefers-color-scheme:dark){{:root{{color-scheme:dark;{_colours(DARK)}}}}}"
    f"@media screen{{:root:has(#theme-light:checked){{color-scheme:light;{_colours(LIGHT)}}}"
    f":root:has(#theme-dark:checked){{color-scheme:dark;{_colours(DARK)}}}}}"
    f"{_RULES}{_PALETTE}"
)

# SPDX-License-Identifier: Apache-2.0
# usage: stepsim plan --job JOB --steps STAGE | awk -f docs/guide/deepseek-v3-pair.awk > PICTURE.svg
# The pair of forward and backward that `stepsim plan --steps` lists first, in time: kernels one after the other, each exchange as soon
# as it is posted and those before it are done. Above the whole pair, below the second layer of each side with names.
# -v total=1: only how many milliseconds it takes; -v notify=MS: each exchange takes so much longer.
BEGIN {
    FS = ","
    left = 128
    wide = 1090 - left
    nkinds = split("attention gemm grouped weights rest again dispatch combine", order, " ")
    colour["attention"] = "#7b5ea7"; text["attention"] = "attention"
    colour["gemm"] = "#3f78b5"; text["gemm"] = "GEMM"
    colour["grouped"] = "#1f9aa0"; text["grouped"] = "grouped GEMM (experts)"
    colour["weights"] = "#d99a2b"; text["weights"] = "weight gradients"
    colour["rest"] = "#b4bcc6"; text["rest"] = "norms, casts, copies, router"
    colour["again"] = "#d7a3b8"; text["again"] = "recomputed"
    colour["dispatch"] = "#d9603b"; text["dispatch"] = "dispatch"
    colour["combine"] = "#4f9d55"; text["combine"] = "combine"
}
$1 != "FB" || done { next }
pair && pair != $2 "," $3 { done = 1; next }
{ pair = $2 "," $3 }
$4 == "compute" {
    side = $6 == "F" ? "F" : "B"
    kind = $9 == "recompute" ? "again" : $6 == "W" ? "weights" : $8 == "grouped gemm" ? "grouped" : $8 == "elementwise" ? "rest" : $8
    if ($7 == "input norm" && side == "F") layer[++layers] = now
    if (n && box_kind[n] == kind && box_row[n] == side && box_end[n] == now && (kind == "rest" || kind == "again")) {
        now += $10
        box_end[n] = now
        name[n] = ""
        next
    }
    n++
    box_kind[n] = kind; box_row[n] = side; name[n] = $7
    box_at[n] = now
    now += $10
    box_end[n] = now
}
$4 == "post" {
    n++
    # gradients go back the way that tokens came
    box_kind[n] = ($7 == "dispatch") == ($6 == "F") ? "dispatch" : "combine"; box_row[n] = ($6 == "F" ? "F" : "B") "x"
    box_at[n] = last > now ? last : now
    last = box_at[n] + notify + $10
    box_end[n] = last
    exchange[++posted] = n
    name[n] = box_kind[n]
}
$4 == "wait" {
    i = exchange[++waited]
    if (box_end[i] > now) now = box_end[i]
    needed[i] = now
}

function x_of(t) { return left + (t - from) * scale }
function label(x, y, size, anchor, fill, s) {
    printf "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%d\" text-anchor=\"%s\" fill=\"%s\">%s</text>\n", x, y, size, anchor, fill, s
}
# A name in a box from `a` to `b`, upright where it is too narrow for it.
function name_box(a, b, y, height, fill, s,    x) {
    if (b - a > 5.8 * length(s) + 4)
        label((a + b) / 2, y + height / 2 + 3.5, 10, "middle", fill, s)
    else if (b - a > 10 && height > 5.4 * length(s) + 4) {
        x = (a + b) / 2 + 3.5
        printf "<text x=\"%.1f\" y=\"%.1f\" transform=\"rotate(-90 %.1f %.1f)\" font-size=\"10\" text-anchor=\"middle\" fill=\"%s\">%s</text>\n", \
            x, y + height / 2, x, y + height / 2, fill, s
    }
}
# Boxes of a row between `from` and `to`; behind an exchange a line until it is waited for.
function boxes(which, y, height,    i, a, b, c, s) {
    printf "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#f3f4f6\"/>\n", left, y, wide, height
    for (i = 1; i <= n; i++) {
        if (box_row[i] != which || (box_end[i] <= from && needed[i] <= from) || box_at[i] >= to) continue
        a = x_of(box_at[i] > from ? box_at[i] : from)
        b = x_of(box_end[i] < from ? from : box_end[i] < to ? box_end[i] : to)
        c = x_of(needed[i] < to ? needed[i] : to)
        if (needed[i] > box_end[i] && c > b)
            printf "<path d=\"M%.1f %.1fH%.1f\" stroke=\"%s\" stroke-width=\"1.5\" stroke-dasharray=\"2 2\"/>\n", b, y + height / 2, c, colour[box_kind[i]]
        if (b <= a) continue
        printf "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"%s\"%s><title>%s: %.3f ms</title></rect>\n", a, y, b - a, height, \
            colour[box_kind[i]], (b - a > 3 ? " stroke=\"white\" stroke-width=\"0.7\"" : ""), name[i] == "" ? text[box_kind[i]] : name[i], box_end[i] - box_at[i]
        s = name[i]
        sub(/^core /, "", s)
        if (s != "") name_box(a, b, y, height, box_kind[i] == "again" || box_kind[i] == "rest" ? "#222" : "white", s)
    }
}
function axis(y, top, step,    t) {
    for (t = step * int((from + step - 0.001) / step); t <= to + 0.001; t += step) {
        printf "<path d=\"M%.1f %dV%d\" stroke=\"#cfd4da\" stroke-width=\"0.8\"/>\n", x_of(t), top, y
        label(x_of(t), y + 13, 11, "middle", "#444", t)
    }
    label(left + wide + 4, y + 13, 11, "start", "#444", "ms")
}
# Exchanges of the forward, kernels of either side, exchanges of the backward; heights of both.
function panel(y, exchanges, kernels, step,    i, at, height) {
    split("Fx F B Bx", row, " ")
    split("exchanges,kernels,kernels,exchanges", what, ",")
    scale = wide / (to - from)
    axis(y + 2 * (exchanges + kernels) + 16, y - 4, step)
    at = y
    for (i = 1; i <= 4; i++) {
        height = i == 2 || i == 3 ? kernels : exchanges
        boxes(row[i], at, height)
        label(left - 8, at + height / 2 + 4, 11, "end", "#444", what[i])
        at += height + (i == 2 ? 8 : 3)
    }
    printf "<text x=\"14\" y=\"%d\" font-size=\"13\" font-weight=\"bold\" fill=\"#222\">forward</text>\n", y - 8
    printf "<text x=\"14\" y=\"%d\" font-size=\"13\" font-weight=\"bold\" fill=\"#222\">backward</text>\n", at + 10
}
END {
    if (total) {
        printf "%.6f\n", now
        exit
    }
    print "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1120\" height=\"512\" viewBox=\"0 0 1120 512\" font-family=\"system-ui, sans-serif\" role=\"img\">"
    print "<title>One pair of a forward and a backward</title><rect width=\"1120\" height=\"512\" fill=\"white\"/>"
    x = 14
    for (k = 1; k <= nkinds; k++) {
        printf "<rect x=\"%d\" y=\"12\" width=\"13\" height=\"13\" rx=\"2\" fill=\"%s\"/>\n", x, colour[order[k]]
        label(x + 18, 23, 12, "start", "#222", text[order[k]])
        x += 40 + 6.5 * length(text[order[k]])
    }
    lo = layer[2]; hi = layer[3]
    from = 0; to = now
    scale = wide / now
    printf "<path d=\"M%.1f 48H%.1fV196L%.1f 226H%.1fL%.1f 196Z\" fill=\"#fff6d6\"/>\n", x_of(lo), x_of(hi), left + wide, left, x_of(lo)
    panel(56, 26, 30, 10)
    from = lo; to = hi
    printf "<rect x=\"%d\" y=\"226\" width=\"%d\" height=\"256\" fill=\"#fff6d6\"/>\n", left, wide
    panel(240, 40, 66, 2)
    label(left + wide / 2, 505, 12, "middle", "#222", sprintf("Below: a layer of each side, %.1f of %.1f ms. While one side exchanges tokens, kernels of the other run; dashes: done, and not yet waited for.", hi - lo, now))
    print "</svg>"
}

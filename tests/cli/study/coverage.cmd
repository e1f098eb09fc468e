# How often error bands hold the runs of sources that they were made without: sums and means are those of the rows, and the text says what the JSON does.
"$STEPSIM" validate --coverage --json > c.json && "$STEPSIM" validate --coverage > c.txt && python3 -c '
import json
d, text = json.load(open("c.json")), open("c.txt").read()
print(d["claimed_pct"], "they claim 90 %" in text)
for name in ("time", "memory"):
    c = d[name]
    rows = c["sources"]
    weight = sum(r["weight"] for r in rows)
    mean, runs = sum(r["inside_pct"] for r in rows) / len(rows), sum(r["inside_pct"] * r["weight"] for r in rows) / weight
    wanted = [name, "  source                   models     runs  counted  inside % band +-%"]
    for r in rows:
        wanted.append("  %-24s %-8s %6d %8.0f %9.0f %8.1f" % (r["source"], "hybrid" if r["hybrid"] else "mixture" if r["mixtures"] else "dense", r["runs"], r["weight"],
                                                              r["inside_pct"], r["band_pct"]))
    wanted += ["  %-24s %-8s %6s %8s %9.1f" % ("mean of the sources", "", "", "", mean),
               "  %-24s %-8s %6s %8.0f %9.1f" % ("all runs", "", "", weight, runs)]
    print(name, len(rows) > 10, abs(mean - c["by_source_pct"]) < 1e-6, abs(weight - c["weight"]) < 1e-6, abs(runs - c["by_run_pct"]) < 1e-6,
          "\n".join(wanted) + "\n" in text)
'

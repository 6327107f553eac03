// Writes the numbers and the picture of the last soak run to docs/soak.md: `npm run report:soak [-- --folder FOLDER]`.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from '../packages.mjs'
import { drawCurves } from '../soak/chart.mjs'
import { JUDGED, REFERENCE, SHOWN } from '../soak/names.mjs'
import { describeRun } from '../soak/report.mjs'
import { curvesOf, parseSamples } from '../soak/samples.mjs'
import { judge } from '../soak/verdict.mjs'
import { replaceSection } from './section.mjs'

const { values } = parseArgs({ options: { folder: { type: 'string', default: join(root, '.cache/soak') } } })
const MARKERS = {
  begin: '<!-- soak run: written by npm run report:soak -->',
  end: '<!-- end of the soak run -->',
}

const summary = JSON.parse(readFileSync(join(values.folder, 'summary.json'), 'utf8'))
const { startedAt, endedAt, minutes, warmUpMinutes, rate } = summary
const samples = parseSamples(readFileSync(join(values.folder, 'samples.jsonl'), 'utf8'))
const curves = curvesOf(samples, { startedAt, endedAt })
const verdict = judge(curves, { processes: JUDGED, reference: REFERENCE, warmUpMinutes })
const section = describeRun({ summary, verdict, curves })

replaceSection(join(root, 'docs/soak.md'), MARKERS, () => section)
const title = `Soak test: ${minutes.toFixed(0)} minutes, ${rate} calls per second and node`
writeFileSync(
  join(root, 'docs/images/soak.svg'),
  drawCurves(curves, {
    title,
    processes: SHOWN,
    minutes,
    warmUpMinutes,
    starvedMinutes: verdict.starvedMinutes,
  }),
)
console.log(section)

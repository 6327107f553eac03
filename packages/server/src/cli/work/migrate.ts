import { createReadStream } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, extname, join, resolve } from 'node:path'
import { migrateConfig, migrateRecords, type OldFile } from '@holdfast/runtime'
import type { Context } from '../context.js'
import { CommandFailure, EXIT } from '../exit.js'
import { printJson } from '../output/print.js'
import { shown } from '../output/text.js'
import { lines, put } from './write.js'

export interface MigrateOptions {
  out?: string
  force?: boolean
}

const CONFIGS = ['.yaml', '.yml', '.json']
const RECORDS = ['.jsonl', '.ndjson']

const snake = (key: string): string => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** A report in the wire's spelling. */
const wire = (value: unknown): unknown =>
  typeof value !== 'object' || value === null || Array.isArray(value)
    ? value
    : Object.fromEntries(Object.entries(value).map(([key, held]) => [snake(key), wire(held)]))

/** `migrate FILE|DIR`: old settings to a config file of today, old records to records of today. */
export async function migrate(context: Context, path: string, options: MigrateOptions): Promise<number> {
  const place = resolve(context.io.cwd, path)
  const found = await stat(place).catch(() => undefined)
  if (found === undefined) throw new CommandFailure(EXIT.failure, `there is no ${path}`)
  if (found.isDirectory()) return settings(context, await folder(context, place), options)
  if (RECORDS.includes(extname(place))) return records(context, place, options)
  return settings(context, [{ file: basename(place), text: await readFile(place, 'utf8') }], options)
}

async function folder({ io }: Context, dir: string): Promise<OldFile[]> {
  const names = (await readdir(dir)).toSorted()
  const configs = names.filter((name) => CONFIGS.includes(extname(name)))
  for (const name of names.filter((one) => RECORDS.includes(extname(one))))
    io.err(`${name} holds records: migrate it by itself\n`)
  if (configs.length === 0)
    throw new CommandFailure(EXIT.failure, `there are no ${CONFIGS.join(', ')} files in ${dir}`)
  return Promise.all(configs.map(async (file) => ({ file, text: await readFile(join(dir, file), 'utf8') })))
}

async function settings(
  context: Context,
  files: readonly OldFile[],
  options: MigrateOptions,
): Promise<number> {
  const { io, shared } = context
  const { out, force } = options
  const { text, report } = migrateConfig(files)
  if (out !== undefined || !shared.json) await put(context, out, text, { fresh: !force })
  if (shared.json) printJson(context, { ...(wire(report) as object), ...(out === undefined ? { text } : {}) })
  else {
    for (const { file, path, message } of report.problems)
      io.err(`note   ${[file, path].filter(Boolean).join(' ')}: ${shown(message)}\n`)
    const { policiesIn, policiesOut, mappingsIn, mappingsOut, breakersIn, breakersOut } = report.integrity
    io.err(
      `policies ${policiesOut} of ${policiesIn}, mappings ${mappingsOut} of ${mappingsIn}, breakers ${breakersOut} of ${breakersIn}\n`,
    )
  }
  return report.integrity.ok ? EXIT.ok : EXIT.failure
}

async function records(context: Context, file: string, { out, force }: MigrateOptions): Promise<number> {
  const { io, shared } = context
  const target = out === undefined ? undefined : await lines(context, out, { fresh: !force })
  const write = (line: string): unknown => {
    if (target !== undefined) return target.write(`${line}\n`)
    return shared.json ? undefined : io.out(`${line}\n`)
  }
  try {
    const { report } = await migrateRecords(createReadStream(file, 'utf8'), { write })
    if (shared.json) printJson(context, wire(report))
    else {
      for (const { line, message } of report.problems) io.err(`line ${line}: ${shown(message)}\n`)
      const { in: all, out: kept, rejected } = report.integrity
      io.err(`${kept} of ${all} records brought over, ${rejected} left out\n`)
    }
    return report.integrity.rejected === 0 ? EXIT.ok : EXIT.failure
  } finally {
    await target?.close()
  }
}

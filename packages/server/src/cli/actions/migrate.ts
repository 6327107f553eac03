import { createReadStream } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, extname, join, resolve } from 'node:path'
import { migrateConfig, migrateRecords, type OldFile } from '@holdfast/runtime'
import type { CommandContext } from '../context/context.js'
import { CommandFailure, EXIT_CODES } from '../context/exit.js'
import { printJson } from '../output/print.js'
import { formatInline } from '../output/text.js'
import { openFile, writeOrPrint } from './write.js'

export interface MigrateOptions {
  out?: string
  force?: boolean
}

const CONFIG_EXTENSIONS = ['.yaml', '.yml', '.json']
const RECORD_EXTENSIONS = ['.jsonl', '.ndjson']

const toSnakeCase = (key: string): string => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** A report in the spelling of the wire. */
const toWireReport = (value: unknown): unknown =>
  typeof value !== 'object' || value === null || Array.isArray(value)
    ? value
    : Object.fromEntries(Object.entries(value).map(([key, held]) => [toSnakeCase(key), toWireReport(held)]))

/** `migrate FILE|DIR`: converts old config files or old records. */
export async function migratePath(
  context: CommandContext,
  path: string,
  options: MigrateOptions,
): Promise<number> {
  const source = resolve(context.io.cwd, path)
  const found = await stat(source).catch(() => undefined)
  if (found === undefined) throw new CommandFailure(EXIT_CODES.failure, `${path} not found`)
  if (found.isDirectory()) return migrateSettings(context, await readFolder(context, source), options)
  if (RECORD_EXTENSIONS.includes(extname(source))) return migrateRecordFile(context, source, options)
  return migrateSettings(context, [{ file: basename(source), text: await readFile(source, 'utf8') }], options)
}

async function readFolder({ io }: CommandContext, dir: string): Promise<OldFile[]> {
  const names = (await readdir(dir)).toSorted()
  const configs = names.filter((name) => CONFIG_EXTENSIONS.includes(extname(name)))
  for (const name of names.filter((file) => RECORD_EXTENSIONS.includes(extname(file))))
    io.err(`${name} contains records: migrate it separately\n`)
  if (configs.length === 0)
    throw new CommandFailure(
      EXIT_CODES.failure,
      `expected ${CONFIG_EXTENSIONS.join(', ')} files in ${dir}, got none`,
    )
  return Promise.all(configs.map(async (file) => ({ file, text: await readFile(join(dir, file), 'utf8') })))
}

async function migrateSettings(
  context: CommandContext,
  files: readonly OldFile[],
  options: MigrateOptions,
): Promise<number> {
  const { io, globalOptions } = context
  const { out, force } = options
  const { text, report } = migrateConfig(files)
  if (out !== undefined || !globalOptions.json) await writeOrPrint(context, out, text, { mustBeNew: !force })
  if (globalOptions.json)
    printJson(context, { ...(toWireReport(report) as object), ...(out === undefined ? { text } : {}) })
  else {
    for (const { file, path, message } of report.problems)
      io.err(`note   ${[file, path].filter(Boolean).join(' ')}: ${formatInline(message)}\n`)
    const { policiesIn, policiesOut, mappingsIn, mappingsOut, breakersIn, breakersOut } = report.integrity
    io.err(
      `policies ${policiesOut} of ${policiesIn}, mappings ${mappingsOut} of ${mappingsIn}, breakers ${breakersOut} of ${breakersIn}\n`,
    )
  }
  return report.integrity.ok ? EXIT_CODES.ok : EXIT_CODES.failure
}

async function migrateRecordFile(
  context: CommandContext,
  file: string,
  { out, force }: MigrateOptions,
): Promise<number> {
  const { io, globalOptions } = context
  const target = out === undefined ? undefined : await openFile(context, out, { mustBeNew: !force })
  const write = (line: string): unknown => {
    if (target !== undefined) return target.write(`${line}\n`)
    return globalOptions.json ? undefined : io.out(`${line}\n`)
  }
  try {
    const { report } = await migrateRecords(createReadStream(file, 'utf8'), { write })
    if (globalOptions.json) printJson(context, toWireReport(report))
    else {
      for (const { line, message } of report.problems) io.err(`line ${line}: ${formatInline(message)}\n`)
      const { in: all, out: kept, rejected } = report.integrity
      io.err(`${kept} of ${all} records migrated, ${rejected} rejected\n`)
    }
    return report.integrity.rejected === 0 ? EXIT_CODES.ok : EXIT_CODES.failure
  } finally {
    await target?.close()
  }
}

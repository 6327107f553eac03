import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Runs a command of the package, and returns its exit code and its output. */
export function runCommand(
  name: string,
  ...args: string[]
): Promise<{ code: number | null; output: string }> {
  const command = fileURLToPath(new URL(`../${name}`, import.meta.url))
  const child = spawn(process.execPath, [command, ...args])
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data: Buffer) => {
      output += data.toString()
    })
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, output })))
}

import type { Command } from 'commander'
import type { Context, Work } from '../context.js'

/** Runs the work of a command and keeps what it ends with. */
export type Act = (work: (context: Context) => Work) => Promise<void>

/** A command with its examples, which its help ends with. */
export const withExamples = (command: Command, ...examples: readonly string[]): Command =>
  command.addHelpText('after', `\nExamples\n${examples.map((line) => `  $ ${line}`).join('\n')}\n`)

/** The same for the commands of a group, by their names. */
export function withEach(group: Command, examples: Readonly<Record<string, readonly string[]>>): void {
  for (const command of group.commands) withExamples(command, ...(examples[command.name()] ?? []))
}

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'

interface Message {
  ready?: string
  number?: number
  answer?: unknown
}

/** A handle to a process of the example: sends requests and kills it. */
export class Part {
  /** The content of its ready message: its URL or its name. */
  ready = ''
  private readonly child: ChildProcess
  private numbers = 0
  private output = ''

  private constructor(child: ChildProcess) {
    this.child = child
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (text) => {
        this.output = (this.output + String(text)).slice(-4000)
      })
  }

  static async start(script: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<Part> {
    const part = new Part(fork(script, args, { env: { ...process.env, ...env }, silent: true }))
    part.ready = (await part.hear(({ ready }) => ready !== undefined)).ready ?? ''
    return part
  }

  async ask<T>(question: string): Promise<T> {
    const number = ++this.numbers
    const answered = this.hear((message) => message.number === number)
    this.child.send({ number, question })
    return (await answered).answer as T
  }

  /** Kills the process with SIGKILL. */
  async kill(): Promise<void> {
    const { child } = this
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }

  private hear(wanted: (message: Message) => boolean): Promise<Message> {
    const { child } = this
    return new Promise((resolve, reject) => {
      const gone = (): void => reject(new Error(`a process has ended:\n${this.output}`))
      const heard = (message: Message): void => {
        if (!wanted(message)) return
        child.off('message', heard)
        child.off('exit', gone)
        resolve(message)
      }
      child.on('message', heard)
      child.once('exit', gone)
    })
  }
}

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Message, Questions } from './serve.js'

type Answer<Q extends keyof Questions> = Awaited<ReturnType<Questions[Q]>>

/** A handle to the server process: sends requests, waits for messages, and kills it. */
export class ServerProcess {
  /** The address of its forward proxy for the first pool. */
  proxies = ''
  spare = ''
  /** Its complete output. */
  output = ''
  private readonly child: ChildProcess
  private numbers = 0

  private constructor(child: ChildProcess) {
    this.child = child
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (text) => {
        this.output += String(text)
      })
  }

  static async start(
    script: string,
    args: readonly string[],
    env: NodeJS.ProcessEnv,
  ): Promise<ServerProcess> {
    const child = fork(script, args, { env: { ...process.env, ...env }, silent: true })
    const server = new ServerProcess(child)
    const ready = await server.hear((message) => message.type === 'ready')
    if (ready.type === 'ready') {
      server.proxies = ready.proxies
      server.spare = ready.spare
    }
    return server
  }

  async ask<Q extends keyof Questions>(question: Q): Promise<Answer<Q>> {
    const number = ++this.numbers
    const answered = this.hear((message) => message.type === 'answer' && message.number === number)
    this.child.send({ number, question })
    const message = await answered
    return (message.type === 'answer' ? message.answer : undefined) as Answer<Q>
  }

  /** Waits for a message. Rejects if the process ends first. */
  hear(wanted: (message: Message) => boolean): Promise<Message> {
    const { child } = this
    return new Promise((resolve, reject) => {
      const gone = (): void => reject(new Error(`the server process has ended:\n${this.output}`))
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

  /** Kills the process with SIGKILL. */
  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    const gone = once(this.child, 'exit')
    this.child.kill('SIGKILL')
    await gone
  }
}

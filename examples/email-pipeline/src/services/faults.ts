// What is wrong with the services, mail by mail, until they are repaired.

export type Fault = 'timeout' | 'limited' | 'unauthorized' | 'rejected' | 'down' | 'hiccup' | 'malformed'

type Place = 'gmail' | 'gemini' | 'notion'

/** Which mails, out of every hundred, meet what. `limited` and `hiccup` pass by themselves, the rest does not. */
const FAULTS: Record<Place, Partial<Record<Fault, readonly number[]>>> = {
  gmail: { hiccup: [2, 21, 41, 61, 81], limited: [11], unauthorized: [3, 53], timeout: [7] },
  gemini: { hiccup: [13, 33, 63], limited: [35], malformed: [5, 25, 75], down: [19] },
  notion: { hiccup: [17, 37, 97], rejected: [23, 73], timeout: [29], limited: [67] },
}

/** Notion is down for everybody while these mails, out of a hundred, come by. */
const OUTAGE = { from: 84, to: 94 }

export class Faults {
  private repaired = false
  private readonly met = new Map<string, number>()

  /** From now on everything works. */
  repair(): void {
    this.repaired = true
  }

  /** What a mail meets at a place this time. */
  meet(place: Place, mail: string): Fault | undefined {
    if (this.repaired) return undefined
    const number = Number(mail.replace(/\D/g, '')) % 100
    if (place === 'notion' && number >= OUTAGE.from && number < OUTAGE.to) return 'down'
    const found = Object.entries(FAULTS[place]).find(([, mails]) => mails.includes(number))?.[0] as
      | Fault
      | undefined
    const times = (this.met.get(`${place} ${mail}`) ?? 0) + 1
    this.met.set(`${place} ${mail}`, times)
    return (found === 'hiccup' || found === 'limited') && times > 1 ? undefined : found
  }
}

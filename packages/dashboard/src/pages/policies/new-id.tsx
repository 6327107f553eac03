import { urlFor } from '../../route.js'

/** The problem of the id of a new policy; undefined where it can be used. */
export function problemOfId(id: string, existingIds: ReadonlySet<string>): string | undefined {
  if (id === '') return 'Enter an ID.'
  return existingIds.has(id) ? 'A policy with this ID exists already.' : undefined
}

/** The id of a new policy. An id that exists already is reported while the user types. */
export function NewIdInput(props: {
  value: string
  problem: string | undefined
  existingIds: ReadonlySet<string>
  source: string
  onInput: (value: string) => void
}) {
  const { value, problem, existingIds, onInput } = props
  const isTaken = existingIds.has(value.trim())
  return (
    <div class="field new-id">
      <label htmlFor="policy-id">Policy ID</label>
      <input
        id="policy-id"
        type="text"
        required
        autocomplete="off"
        value={value}
        aria-describedby="policy-id-notes"
        {...(isTaken ? { 'aria-invalid': 'true' as const } : {})}
        onInput={(input) => onInput(input.currentTarget.value)}
      />
      <small id="policy-id-notes" role="status">
        {isTaken ? (
          <span class="field-problem">
            {problem} <a href={urlFor('/policies', { id: value.trim() })}>Open it</a>
          </span>
        ) : (
          'The key under policies in the config file. An operation of this name uses the policy.'
        )}
      </small>
    </div>
  )
}

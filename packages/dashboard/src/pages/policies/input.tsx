import type { PolicyField } from './fields.js'

export interface OriginLabel {
  readonly text: string
  /** The full text, where `text` is shortened. */
  readonly exact?: string
}

const PLACEHOLDERS: Record<string, string> = { list: 'names; [] for none', codes: '502, 503' }

/** One field of the editor, with the origin of its value and its problem. */
export function FieldInput(props: {
  field: PolicyField
  value: string | boolean
  origin: OriginLabel | undefined
  problem: string | undefined
  changed: boolean
  onInput: (value: string | boolean) => void
}) {
  const { field, value, origin, problem, changed, onInput } = props
  const { name, label, kind, defaultValue } = field
  const id = `policy-${name}`
  const notes = `${id}-notes`
  const shared = {
    id,
    'aria-describedby': notes,
    ...(problem === undefined ? {} : { 'aria-invalid': 'true' as const }),
  }
  const from = changed ? 'not saved' : origin === undefined ? '' : `from ${origin.text}`
  return (
    <div class={`field ${changed ? 'changed' : ''}`}>
      {kind === 'flag' ? (
        <label htmlFor={id}>
          <input
            {...shared}
            type="checkbox"
            role="switch"
            checked={value === true}
            onChange={(change) => onInput(change.currentTarget.checked)}
          />
          {label}
        </label>
      ) : (
        <label htmlFor={id}>{label}</label>
      )}
      {Array.isArray(kind) && (
        <select {...shared} value={String(value)} onChange={(change) => onInput(change.currentTarget.value)}>
          {kind.map((option: string) => (
            <option value={option} selected={option === value}>
              {option}
            </option>
          ))}
        </select>
      )}
      {typeof kind === 'string' && kind !== 'flag' && (
        <input
          {...shared}
          type="text"
          inputMode={kind === 'number' || kind === 'seconds' ? 'decimal' : 'text'}
          autocomplete="off"
          placeholder={
            defaultValue === undefined ? (PLACEHOLDERS[kind] ?? 'none') : `none, or ${defaultValue}`
          }
          value={String(value)}
          onInput={(input) => onInput(input.currentTarget.value)}
        />
      )}
      <small id={notes} title={changed ? undefined : origin?.exact}>
        {problem === undefined ? from : <span class="field-problem">{problem}</span>}
      </small>
    </div>
  )
}

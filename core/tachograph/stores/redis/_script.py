"""How findings get into Redis: one script, so that what belongs together changes together."""

from __future__ import annotations

import hashlib
from typing import Final

from tachograph.core.findings import EffectFinding, Finding, RunFinding, SignatureFinding, finding_bytes

FIELDS_END: Final = "\x1f"
"""Between the fields of an entry; in no id, name or digest."""

APPLY: Final = """
local prefix = KEYS[1]

local function fields(text)
  local found = {}
  for field in string.gmatch(text .. '\\31', '([^\\31]*)\\31') do found[#found + 1] = field end
  return found
end

-- Bytes, not letters: a server's locale would sort ids in its own way.
local function after(one, other)
  if one == other then return false end
  local low, high = 0, math.min(#one, #other)
  while low < high do
    local middle = math.floor((low + high + 1) / 2)
    if string.sub(one, 1, middle) == string.sub(other, 1, middle) then low = middle else high = middle - 1 end
  end
  return (string.byte(one, low + 1) or -1) > (string.byte(other, low + 1) or -1)
end

local function count(run, effects, unknown)
  local before = redis.call('HGET', prefix .. 'counts', run) or '0 0'
  local all, open = string.match(before, '^(-?%d+) (-?%d+)$')
  redis.call('HSET', prefix .. 'counts', run, (all + effects) .. ' ' .. (open + unknown))
end

local function leave_signature(name, run)
  redis.call('HDEL', prefix .. 'signature:' .. name, run)
  if redis.call('HINCRBY', prefix .. 'signatures', name, -1) <= 0 then redis.call('HDEL', prefix .. 'signatures', name) end
end

local index = {}

function index.run(old, new)
  local kept = {}
  for at = 4, #new do kept[new[at]] = true end
  local had = {}
  if old then
    if old[2] ~= new[2] then redis.call('ZREM', prefix .. 'runs', old[2]) end
    for at = 4, #old do
      had[old[at]] = true
      if not kept[old[at]] then leave_signature(old[at], new[1]) end
    end
  end
  redis.call('ZADD', prefix .. 'runs', 0, new[2])
  for at = 4, #new do
    redis.call('HSET', prefix .. 'signature:' .. new[at], new[1], new[3])
    if not had[new[at]] then redis.call('HINCRBY', prefix .. 'signatures', new[at], 1) end
  end
end

function index.effect(old, new)
  local run = new[2]
  if old then
    redis.call('ZREM', prefix .. 'effects', old[3])
    redis.call('ZREM', prefix .. 'effects:' .. run, old[3])
    if old[5] ~= '' then redis.call('ZREM', prefix .. 'ledger:' .. old[5], old[3]) end
    count(run, -1, old[4] == 'UNKNOWN' and -1 or 0)
  end
  redis.call('ZADD', prefix .. 'effects', 0, new[3])
  redis.call('ZADD', prefix .. 'effects:' .. run, 0, new[3])
  if new[5] ~= '' and new[4] ~= 'FAILED' then redis.call('ZADD', prefix .. 'ledger:' .. new[5], 0, new[3]) end
  count(run, 1, new[4] == 'UNKNOWN' and 1 or 0)
end

local applied = 0
for at = 1, #ARGV, 6 do
  local kind, hash, key, version = ARGV[at], prefix .. ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  local old = redis.call('HGET', hash, key)
  if not old or after(version, string.match(old, '^[^\\n]*')) then
    redis.call('HSET', hash, key, version .. '\\n' .. ARGV[at + 4] .. '\\n' .. ARGV[at + 5])
    if index[kind] then index[kind](old and fields(string.match(old, '^[^\\n]*\\n([^\\n]*)')), fields(ARGV[at + 4])) end
    applied = applied + 1
  end
end
return applied
"""
"""Takes findings in: ARGV holds kind, hash, key, version, fields and finding of each; returns how many took a place."""

ARGUMENTS: Final = 6
"""Of one finding."""


def arguments_of(finding: Finding) -> tuple[str | bytes, ...]:
    """What APPLY is told of a finding."""
    kind, hash_name, fields = _place(finding)
    return kind, hash_name, finding.key, finding.version, FIELDS_END.join(fields), finding_bytes(finding)


def ledger_digest(name: str, idempotency_key: str) -> str:
    """Stands for a tool and a key, whatever characters they hold."""
    return hashlib.sha256(f"{len(name)}:{name}{idempotency_key}".encode("utf-8", "surrogatepass")).hexdigest()


def _place(finding: Finding) -> tuple[str, str, tuple[str, ...]]:
    if isinstance(finding, RunFinding):
        run = finding.row
        order = f"{finding.first_hlc:020}/{run.run_id}"
        return "run", "findings:run", (run.run_id, order, str(run.started_at_us), *run.signatures)
    if isinstance(finding, EffectFinding):
        effect = finding.row
        order = f"{finding.stamp[0]:020}/{effect.effect_id}"
        digest = "" if effect.idempotency_key is None else ledger_digest(effect.name, effect.idempotency_key)
        return "effect", "findings:effect", (effect.effect_id, effect.run_id, order, effect.state.value, digest)
    if isinstance(finding, SignatureFinding):
        return "signature", f"hits:{finding.run_id}", ()
    kind = finding.key.partition("/")[0]
    return kind, f"findings:{kind}", ()
